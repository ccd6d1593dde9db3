"""API objects as controllers read them: whole templates, owners and what they block, counts and deadlines.

meta        what every object carries here
pods        pods, as far as those who own and count them need
workloads   ReplicaSets, Deployments, Jobs, budgets
stickyjobs  StickyJobs
podgroups   PodGroups of scheduling.x-k8s.io
volumes     claims, volumes and classes
"""

"""API objects as controllers read them: whole templates, owners and what they block, counts and deadlines.

meta        what every object carries here
pods        pods, as far as those who own and count them need
workloads   ReplicaSets, Deployments, Jobs, budgets
stickyjobs  StickyJobs
volumes     claims, volumes and classes
"""

"""Small workload controllers, enough to bring a cluster to life, over nothing but the API.

    runtime      what controllers are made of: queues, informers, expectations, writes, owners
    objects      API objects as controllers read them
    definitions  the CustomResourceDefinitions that Moorage brings
    deployments, replicasets, jobs      workloads into pods
    stickyjobs                          pods that come back to where they were
    podgroups                           how far groups of pods are
    garbage, podgc, namespaces          what goes when something else has gone
    nodes                               silent nodes: conditions, taints, evictions
    budgets                             how many pods may be disturbed
    volumes                             claims, volumes, a simulated provisioner
    running      `run_controllers`: all of them, until cancelled
    process      `moorage controllers`: some of them, by a lease

Each controller works without the others, so that any may be left to somebody else.
"""

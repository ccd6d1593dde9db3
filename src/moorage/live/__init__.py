"""The scheduler process on a real cluster: informers in, bindings and events out.

Deciding and acting are apart: the scheduling loop decides pod after pod without ever waiting, everything that reaches
the API server runs in tasks beside it, and all of it on one thread, so that nothing needs a lock.

    process      the life of the process: follow, lead, serve, stop
    options      what the command line and the configuration say about it
    scheduler    the parts put together
    scheduling   the loop: attempt after attempt, with turns for others between
    world        what attempts await and write: tasks, timers, the API server
    reporting    events about pods
    following    informers for the kinds that the enabled plugins need
    watchdog     over the process itself: what blocks it, what it holds
    manifests    how to run it in a cluster, with no more rights than it needs
    measuring, health, endpoint, certificates, configz   the HTTPS endpoint
"""

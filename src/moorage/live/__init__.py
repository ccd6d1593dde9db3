"""The scheduler process on a real cluster: informers in, bindings and events out.

Deciding and acting are apart: the scheduling loop decides pod after pod without ever waiting, everything that reaches
the API server runs in tasks beside it, and all of it on one thread, so that nothing needs a lock.

    process      the life of the process: follow, lead, serve, stop
    options      what the command line and the configuration say about it
    scheduler    the parts put together
    scheduling   the loop: take a pod, decide, assume, reserve, permit
    binding      the binding cycle: wait at Permit, PreBind, Bind, PostBind; undoing all of it
    permits      pods held at Permit
    failing      what becomes of a pod that got no node
    preempting   evicting victims
    statuses     what we write into pods' status, one request at a time for each pod
    reporting    events about pods
    hosting      what plugins may ask of the process
    following    informers for the kinds that the enabled plugins need
    watchdog     over the process itself: what blocks it, what it holds
    manifests    how to run it in a cluster, with no more rights than it needs
    measuring, health, endpoint, certificates, configz   the HTTPS endpoint
"""

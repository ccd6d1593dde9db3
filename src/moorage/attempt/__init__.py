"""What an attempt to schedule does with a decision: assume, reserve, hold, bind; or undo, say why, and try again later.

Coroutines over what the queue gives (a pod, or a group of pods), written once for every host: they
await nothing but methods of a `World`, which is one page. No sockets, no asyncio, no clock of their own.

    core        the parts put together over a world
    scheduling  one attempt: decide, place, and hand on to be bound; or fail
    groups      the same for a group: decided as one, placed whole or not at all
    halfbound   gangs of which some members run and others could not be bound
    missinggroups  pods whose group is not there
    groupstatuses  what is written into groups' status
    inquiries   attempts whose decision waits for extenders
    placing     assume, Reserve, Permit; and all of that undone
    binding     wait at Permit, PreBind, Bind, PostBind; undoing what was placed
    underway    the bindings under way, and stopping one
    permits     pods held at Permit
    failing     what becomes of a pod that got no node
    preempting  evicting victims
    statuses    what is written into pods' status, one request at a time for each pod
    reporting   what people are told
    hosting     what plugins may ask
    world       what an attempt may ask of the process around it
    virtual     coroutines run over virtual time, without asyncio
    scripted    a world on virtual time whose answers are the caller's: tests, recorded scripts, simulations
"""

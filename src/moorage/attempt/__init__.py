"""What an attempt to schedule does with a decision: assume, reserve, hold, bind; or undo, say why, and try again later.

Coroutines over what the queue gives (a pod now; a group of pods has the same life), written once for every host: they
await nothing but methods of a `World`, which is one page. No sockets, no asyncio, no clock of their own.

    world       what an attempt may ask of the process around it
    virtual     coroutines run over virtual time, without asyncio
    scripted    a world on virtual time whose answers are the caller's: tests, recorded scripts, simulations
"""

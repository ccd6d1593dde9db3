"""The scheduling cycle told top to bottom: prefilter, filter, score, pick, reserve, permit; preemption; diagnosis.

Synchronous and deterministic: no sockets, no clock, no randomness of its own."""

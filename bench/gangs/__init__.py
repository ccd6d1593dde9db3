"""Gangs under several schedulers, the same scenarios for each, every gang watched on every event.

    python -m bench.gangs embedded|real [--repeats 3] [--only NAME,...] [--among NAME,...] [--write PAGE]

decisions   what gangs cost in memory, for `make bench`
playing     scenarios for contestants, in turn or beside each other
report      the table of docs/gangs.md
scenarios   the rows; watched and placed by tests.cluster.gangs
"""

"""The cluster as arrays: interned ids, the node table, pods by what plugins ask.

Holds state, decides nothing. Plugins read it, cluster/ writes it."""

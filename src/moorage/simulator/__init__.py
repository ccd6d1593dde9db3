"""The same engine on a virtual clock."""

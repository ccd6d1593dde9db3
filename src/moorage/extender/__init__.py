"""The extender webhook protocol from both sides: wire types, client, server."""

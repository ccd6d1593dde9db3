"""API objects, decoded to the fields that scheduling reads.

Plain msgspec Structs with Kubernetes' own names; no behaviour beyond trivial accessors. Everybody may import this."""

"""The scheduling queue: active, backing off, unschedulable, gated; nominated pods; hints."""

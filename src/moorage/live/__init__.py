"""The scheduler process on a real cluster: informers in, bindings and events out."""

"""What the cluster adds to an object or refuses by its own state: namespaces, priorities, defaults of the server."""

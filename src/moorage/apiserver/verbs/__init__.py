"""What clients do to resources: read, watch, create, update, patch, delete."""

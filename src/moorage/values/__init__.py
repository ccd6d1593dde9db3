"""Pure values: quantities, selectors, taints, ports, effective requests, the YAML Kubernetes reads.

Functions of their arguments, without state. Everybody above objects may import this."""

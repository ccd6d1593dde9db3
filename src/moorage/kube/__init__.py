"""Talking to an API server: kubeconfig, authentication, transport, watches, informers, leases, events."""

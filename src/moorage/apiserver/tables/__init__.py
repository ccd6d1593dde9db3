"""What `kubectl get` shows: the columns of each kind."""

"""What Kubernetes' own evaluator says of device selectors: recorded with Go, to test ours against."""

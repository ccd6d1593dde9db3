"""Small workload controllers, enough to bring a cluster to life."""

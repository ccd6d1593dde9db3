"""For plugin authors: builders for pods, nodes and clusters, and one call that decides."""

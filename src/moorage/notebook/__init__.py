"""A cluster in a notebook or a script: read it from anywhere, ask where pods would go, look at the answer.

    import moorage

    cluster = moorage.load("nodes.yaml", "pods.json")      # or moorage.connect(), the cluster kubectl talks to
    cluster.decide("default/web-0")                        # a table: each node, its scores or why not

reading    objects from files, `kubectl get -o json` lists, texts and dicts, with what an API server would fill in
live       objects from a running cluster
cluster    the cluster that both give: pending pods, and decisions on any pod
"""

from moorage.notebook.cluster import LoadedCluster, connect, load
from moorage.notebook.reading import Source, read_manifests, read_objects

__all__ = ["LoadedCluster", "Source", "connect", "load", "read_manifests", "read_objects"]

"""Hollow nodes: kubelets without containers, thousands of them in one process, over nothing but the API.

    shapes, files   what nodes are made of, as users write it: flags, YAML
    registration    Node objects from shapes, created on the API server
    objects         nodes and pods as a kubelet reads them
    admission       what a node has left; who is refused, and in which words
    runs            what a kubelet knows of a pod it hosts
    stages          a pod's life as a table: what happens when
    statuses        the same, as the status the API shows
    kubelets        pods in, statuses and deletions out
    heartbeats      leases and readiness, at a rate that many nodes can afford
    running         `run_nodes`: all of it, until cancelled

A node is served when it carries the annotation `moorage.dev/node: hollow`, whoever created it. It is stopped by
the annotation `moorage.dev/stopped: "true"`: no heartbeats, and nothing happens to its pods. It is removed by
deleting its Node.
"""

"""Talking to an API server: kubeconfig, authentication, transport, watches, informers, leases, events, writes.

What belongs here knows HTTP and Kubernetes' API conventions, and nothing of scheduling; it is generic over the
Structs its callers decode into. A path from the bottom up:

    errors       what can go wrong, as types
    paths        kinds and the paths they are served under
    credentials  tokens and certificates, and when they expire      (execplugin: asking a program for them)
    kubeconfig   the files, and several of them as one
    access       from files, flags and the pod's own mount to a `ClusterAccess`   (tls: its certificates)
    http1        one request, one answer, on kept-alive connections
    transport    `Client`: requests and streams with deadlines, one retry on 401
    decoding     lists and watch events into Structs; what does not decode is an item of its own
    watching     one stream, list-then-watch, watch for ever
    informer     a store that follows the cluster and tells its handlers
    election     leadership by Lease
    gate, lanes  writes: bind before delete before status before event, within qps and burst
    recorder     events.k8s.io events, aggregated
    reviews      who is this token, and may it do that
"""

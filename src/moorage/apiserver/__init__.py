"""The embedded API server: a Kubernetes API that kubectl, the stock kube-scheduler and the public clients believe.

A request flows through these modules from top to bottom:

    server          TLS, HTTP, the life of the process
    auth            who is asking
    requests        which resource, which verb, which options
    media           which format comes in and which goes out
    verbs/          get, list, watch, create, update, patch, delete, and the subresources
    patch/          JSON patch, merge patch, strategic merge patch, server-side apply
    fields/         the shape of every built-in kind, as one table
    defaults/       what is filled in, admission/ what the cluster adds, validation/ what is refused
    crd/            kinds that users define
    store, history  objects as encoded bytes, changes in order, durable in SQLite if asked

It has four floors, and imports go down alone (checked): server, resources, storage, wire. pyproject.toml says which
module is on which.
"""

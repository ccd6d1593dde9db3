"""A real Kubernetes control plane without Docker: etcd, kube-apiserver, kube-scheduler and friends.

    binaries.py     which programs, and where they are
    build.py        building them with Go into the user's cache
    processes.py    starting one program, waiting for it, ending it
    running.py      a control plane on loopback, for tests and benchmarks
    module/         a Go module for each version, which pins what is built

`python -m tools.control_plane` builds what is missing.
"""

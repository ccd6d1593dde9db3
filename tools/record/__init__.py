"""What kube-scheduler itself decides, recorded with its own code: `python -m tools.record`.

record.go     a program on the scheduler's public module: cases in, decisions out
__main__.py   builds it for a version, as the control plane is built, and runs it
"""

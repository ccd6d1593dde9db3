"""Measurements: how long decisions take, beside the targets of the design and beside kube-scheduler."""

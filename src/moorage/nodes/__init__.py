"""Hollow nodes: kubelets without containers."""

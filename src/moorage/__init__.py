"""Moorage: a Kubernetes scheduler in Python, and the workshop around it."""

__version__ = "0.1.0"

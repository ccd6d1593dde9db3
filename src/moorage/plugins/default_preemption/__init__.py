"""DefaultPreemption: where no node fits, find the node where it costs least to make room."""

from moorage.plugins.default_preemption.plugin import DefaultPreemption

__all__ = ["DefaultPreemption"]

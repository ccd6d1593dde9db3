"""Garbage collection: what lives only as long as its owners do.

graph        who owns whom, over all kinds
controller   deletes what has no owner left; carries out foreground and orphaning deletions
"""

from moorage.controllers.garbage.controller import GarbageCollector

__all__ = ["GarbageCollector"]

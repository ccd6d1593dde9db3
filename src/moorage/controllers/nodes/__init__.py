"""Nodes that fall silent: they are said to be unreachable, tainted, and in the end emptied.

taints      which taints a node's conditions call for
lifecycle   heartbeats into conditions, conditions into taints
eviction    pods off nodes whose NoExecute taints they do not tolerate, or not for ever
"""

from moorage.controllers.nodes.eviction import TaintEviction
from moorage.controllers.nodes.lifecycle import NodeLifecycle

__all__ = ["NodeLifecycle", "TaintEviction"]

"""PodTopologySpread: matching pods lie evenly over the domains of a topology.

Constraints are compiled once for pods that are alike (constraints, defaults) into plans that hold tables of counts by
domain (hard, soft). The plugin itself is in plugin, its opinion on cluster events in hints.
"""

from moorage.plugins.topology_spread.plugin import PodTopologySpread

__all__ = ["PodTopologySpread"]

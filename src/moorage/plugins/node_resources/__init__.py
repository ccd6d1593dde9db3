"""Node resources: does the pod fit, how full will the node be, how evenly are its resources used."""

from moorage.plugins.node_resources.balanced import NodeResourcesBalancedAllocation
from moorage.plugins.node_resources.fit import NodeResourcesFit

__all__ = ["NodeResourcesBalancedAllocation", "NodeResourcesFit"]

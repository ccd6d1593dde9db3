"""InterPodAffinity: pods that want to be near other pods, or far from them.

Terms are resolved once for pods that are alike (terms) into plans that hold tables of counts by domain (rules,
filtering, scoring). The plugin itself is in plugin, its opinion on cluster events in hints.
"""

from moorage.plugins.inter_pod_affinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]

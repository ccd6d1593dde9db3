"""DynamicResources: devices for the claims of pods.

`pools` says which devices a node reaches, `search` which of them a pod gets, `allocation` how that is written down. All
of it is worked out anew for each attempt; only what was reserved lasts, in flight until it is written.
"""

from moorage.plugins.dynamic_resources.plugin import DynamicResources

__all__ = ["DynamicResources"]

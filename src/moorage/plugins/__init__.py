"""kube-scheduler's default plugins, one module or folder each, in pipeline order.

Plugins never import each other."""

"""Annotations and phases of volumes and claims."""

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""On a claim: it has its volume for good."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""On a claim or a volume: the other side was chosen by a controller, not by the user."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""On a claim: the scheduler wants its volume made for this node."""
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
"""On a claim: who is to make its volume."""
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
"""On a volume: who has made it."""
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"

NO_PROVISIONER = "kubernetes.io/no-provisioner"

AVAILABLE, BOUND, RELEASED, PENDING, LOST = "Available", "Bound", "Released", "Pending", "Lost"

"""Moorage: a Kubernetes scheduler in Python, and the workshop around it.

import moorage

cluster = moorage.load("cluster.yaml")    # or moorage.connect() for the cluster that kubectl talks to
cluster.decide("web-0")                   # where the pod would go, and why
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.notebook import LoadedCluster, connect, load

__version__ = "0.1.0"

__all__ = ["LoadedCluster", "__version__", "connect", "load"]


def __getattr__(name: str) -> Any:
    """`load` and `connect` bring the whole engine with them: only who asks for them waits for its import."""
    if name in __all__:
        from moorage import notebook

        return getattr(notebook, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

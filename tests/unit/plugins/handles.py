"""A handle for plugins that are tried alone."""

from random import Random

from moorage.columns import Snapshot
from moorage.config import DEFAULT_FEATURES, Features
from moorage.framework.handle import Handle


def a_handle(features: Features = DEFAULT_FEATURES, snapshot: Snapshot | None = None) -> Handle:
    """Over this snapshot or an empty one; the time stands still."""
    return Handle(snapshot or Snapshot(), now=lambda: 0.0, random=Random(0), features=features)

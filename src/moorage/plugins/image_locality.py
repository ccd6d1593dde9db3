"""ImageLocality: prefers nodes that already hold the pod's images."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from moorage.columns import NodeInfo, NodeTable, PodInfo, Rows
from moorage.config.gates import IMAGE_VOLUMES_COUNT
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.points import MAX_SCORE, Scope, Scores
from moorage.values.int64 import truncated, wrapped

MEBIBYTE = 1024 * 1024
#: Below this many bytes held an image is not worth a point; above the other, for each image, not worth more.
LOW = 23 * MEBIBYTE
HIGH_PER_IMAGE = 1000 * MEBIBYTE


class ImageLocality:
    """Score by the size of the images present, each scaled by the share of nodes that hold it."""

    score_scope = Scope.NODE

    def __init__(self, _args: Any, handle: Handle) -> None:
        self._nodes = handle.snapshot.nodes
        self._counts_volumes = IMAGE_VOLUMES_COUNT in handle.features

    def kept_until(self, nodes: NodeTable) -> Hashable:
        """Scores also depend on how widespread images are."""
        return nodes.images.version, len(nodes)

    def score(self, _state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """0 for nothing of note, 100 for everything."""
        present = wrapped(
            sum(
                self._worth(image.size, len(image.rows))
                for name in image_names(pod)
                if name in node.image_names and (image := self._nodes.images.by_name.get(name)) is not None
            )
        )
        return _score(present, self._wanted(pod))

    def score_nodes(self, _state: CycleState, pod: PodInfo, nodes: NodeTable, rows: Rows) -> Scores:
        """The same, image by image over the rows that hold it."""
        present = np.zeros(nodes.capacity, dtype=np.int64)
        for name in image_names(pod):
            image = nodes.images.by_name.get(name)
            if image is not None:
                present[list(image.rows)] += self._worth(image.size, len(image.rows))
        worth = present[rows]
        distinct, where = np.unique(worth, return_inverse=True)
        wanted = self._wanted(pod)
        scores = np.array([_score(int(one), wanted) for one in distinct], dtype=np.int64)
        return scores[where] if len(rows) else scores

    def _wanted(self, pod: PodInfo) -> int:
        """How many images the pod is taken to have; before 1.37 those of volumes were forgotten."""
        spec = pod.spec
        images = len(spec.init_containers) + len(spec.containers)
        if self._counts_volumes:
            images += sum(volume.image is not None for volume in spec.volumes)
        return images

    def _worth(self, size: int, holders: int) -> int:
        return truncated(float(size) * (holders / len(self._nodes)))


def image_names(pod: PodInfo) -> list[str]:
    """The images of containers, init containers and image volumes, with the tag that nodes report them under."""
    spec = pod.spec
    names = [one.image for one in (*spec.init_containers, *spec.containers)]
    names += [volume.image.reference for volume in spec.volumes if volume.image is not None]
    return [_with_tag(name) for name in names]


def _with_tag(name: str) -> str:
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _score(present: int, images: int) -> int:
    high = HIGH_PER_IMAGE * images
    # Of a pod without images nothing is wanted: the least is the most it can have.
    held = LOW if present < LOW else min(present, high)
    return MAX_SCORE * (held - LOW) // (high - LOW)

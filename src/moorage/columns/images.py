"""Which nodes hold which container image."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from moorage.objects import Node


@dataclass(slots=True)
class ImageState:
    """An image by one of its names: its size as first reported, and the rows that hold it."""

    size: int
    rows: set[int] = field(default_factory=set)


class ImageIndex:
    """Images by name. `version` moves whenever something changed."""

    def __init__(self) -> None:
        self.by_name: dict[str, ImageState] = {}
        self.version = 0
        self._sizes_of: dict[int, dict[str, int]] = {}

    def set_node(self, row: int, node: Node) -> None:
        """Take over the images of a node."""
        sizes: dict[str, int] = {}
        for image in node.status.images:
            for name in image.names:
                sizes.setdefault(name, image.size_bytes)
        before = self._sizes_of.get(row, {})
        if before == sizes:
            return
        self.version += 1
        # As in kube-scheduler the node lets go of its images first: one that only it holds is seen with its new size.
        self._forget(row, before)
        for name, size in sizes.items():
            self.by_name.setdefault(name, ImageState(size)).rows.add(row)
        self._sizes_of[row] = sizes

    def remove_node(self, row: int) -> None:
        """The node is gone, and its images with it."""
        sizes = self._sizes_of.pop(row, {})
        if sizes:
            self.version += 1
            self._forget(row, sizes)

    def _forget(self, row: int, names: Iterable[str]) -> None:
        for name in names:
            state = self.by_name[name]
            state.rows.discard(row)
            if not state.rows:
                del self.by_name[name]

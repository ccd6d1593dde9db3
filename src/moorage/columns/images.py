"""Which nodes hold which container image."""

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
        self._names_of: dict[int, frozenset[str]] = {}

    def set_node(self, row: int, node: Node) -> None:
        """Take over the images of a node."""
        sizes = {name: image.size_bytes for image in node.status.images for name in image.names}
        before = self._names_of.get(row, frozenset())
        if before == sizes.keys():
            return
        self.version += 1
        self._forget(row, before - sizes.keys())
        for name, size in sizes.items():
            self.by_name.setdefault(name, ImageState(size)).rows.add(row)
        self._names_of[row] = frozenset(sizes)

    def remove_node(self, row: int) -> None:
        """The node is gone, and its images with it."""
        names = self._names_of.pop(row, frozenset())
        if names:
            self.version += 1
            self._forget(row, names)

    def _forget(self, row: int, names: frozenset[str]) -> None:
        for name in names:
            state = self.by_name[name]
            state.rows.discard(row)
            if not state.rows:
                del self.by_name[name]

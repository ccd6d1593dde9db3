"""managedFields: who owns which fields of an object.

Ownership is kept from the first server-side apply on. Until then nobody asks, and plain writes stay cheap; what was
there before belongs to `before-first-apply`, as in Kubernetes for objects older than server-side apply.
"""

from dataclasses import dataclass, field
from typing import Any

from moorage.apiserver.patch.ownership import Paths, from_fields, leaves, to_fields
from moorage.apiserver.patch.shapes import Shape

Json = dict[str, Any]

FIRST = "before-first-apply"


@dataclass(frozen=True, slots=True)
class Manager:
    """Somebody who writes: the name, the way of writing, and the version and subresource written to."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    def __str__(self) -> str:
        if self.operation == "Apply":
            return f'"{self.name}"'
        where = f' with subresource "{self.subresource}"' if self.subresource else ""
        return f'"{self.name}"{where} using {self.api_version}'


@dataclass(slots=True)
class Ownership:
    """The fields of each manager, and when each last wrote."""

    owned: dict[Manager, Paths] = field(default_factory=dict)
    times: dict[Manager, str] = field(default_factory=dict)

    @classmethod
    def read(cls, metadata: Json) -> "Ownership":
        """From managedFields."""
        found = cls()
        for entry in metadata.get("managedFields", ()):
            manager = Manager(
                entry.get("manager", ""),
                entry.get("operation", ""),
                entry.get("apiVersion", ""),
                entry.get("subresource", ""),
            )
            found.owned[manager] = from_fields(entry.get("fieldsV1") or {})
            found.times[manager] = entry.get("time", "")
        return found

    def write(self, metadata: Json) -> None:
        """Into managedFields; managers that own nothing are dropped."""
        entries = [self._entry(manager, paths) for manager, paths in self.owned.items() if paths]
        if entries:
            metadata["managedFields"] = entries
        else:
            metadata.pop("managedFields", None)

    def _entry(self, manager: Manager, paths: Paths) -> Json:
        entry: Json = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.api_version}
        if self.times.get(manager):
            entry["time"] = self.times[manager]
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": to_fields(paths)}
        if manager.subresource:
            entry["subresource"] = manager.subresource
        return entry

    def take(self, manager: Manager, paths: Paths, now: str) -> None:
        """Make a manager the owner of exactly these fields."""
        if self.owned.get(manager) != paths:
            self.times[manager] = now
        self.owned[manager] = paths

    def drop(self, paths: Paths, *, but: Manager | None = None) -> None:
        """Take fields from everybody but one."""
        for manager in self.owned:
            if manager != but:
                self.owned[manager] -= paths

    def others(self, manager: Manager) -> Paths:
        """What everybody else owns."""
        return frozenset().union(*(paths for each, paths in self.owned.items() if each != manager))


def track_update(new: Json, old: Json, manager: Manager, shape: Shape, now: str) -> None:
    """After a plain write: what it changed is the writer's, what it removed is nobody's."""
    metadata = new["metadata"]
    if not old["metadata"].get("managedFields"):
        metadata.pop("managedFields", None)
        return
    if metadata.get("managedFields") in ([], [{}]):  # the way to ask for a fresh start
        del metadata["managedFields"]
        return
    before, after = leaves(old, shape), leaves(new, shape)
    changed = frozenset(path for path, value in after.items() if path not in before or before[path] != value)
    ownership = Ownership.read(old["metadata"])
    ownership.drop(frozenset(before.keys() - after.keys()))
    if changed:
        ownership.drop(changed, but=manager)
        ownership.take(manager, ownership.owned.get(manager, frozenset()) | changed, now)
    ownership.write(metadata)

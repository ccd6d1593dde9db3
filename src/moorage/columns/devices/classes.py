"""Which device class stands for which resource name: pods that ask for the resource get devices of the class.

Fed in order of arrival. What happens when classes clash is as in kube-scheduler, oddities included: the newer class
wins, a loser is not entered, and does not come back when the winner goes.
"""

from collections.abc import Iterable, Mapping

from moorage.cel import CompileError, CostExceeded, EvaluationError
from moorage.columns.devices.claims import Claims
from moorage.columns.devices.inventory import DeviceFacts, Inventory, SliceFacts
from moorage.errors import InputError
from moorage.objects import DeviceClass, KubeObject

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class ResourceClasses:
    """Resource name -> class."""

    def __init__(self) -> None:
        self._class_of: dict[str, DeviceClass] = {}
        self._known: dict[str, DeviceClass] = {}
        #: Moves with every change.
        self.version = 0
        self.undoes = False

    def __bool__(self) -> bool:
        return bool(self._class_of)

    def get(self, resource: str) -> DeviceClass | None:
        """The class that stands for a resource."""
        return self._class_of.get(resource)

    def set(self, item: KubeObject) -> None:
        """A class came or changed."""
        assert isinstance(item, DeviceClass)
        before = self._known.get(item.key)
        self._known[item.key] = item
        self.version += 1
        explicit = item.spec.extended_resource_name
        if explicit:
            holder = self._class_of.get(explicit)
            if holder is not None and not _precedes(item, holder):
                return
        if before is not None:
            self._forget_explicit(before)
        if explicit:
            self._class_of[explicit] = item
        self._class_of[IMPLICIT_PREFIX + item.metadata.name] = item

    def remove(self, item: KubeObject) -> None:
        """A class is gone."""
        assert isinstance(item, DeviceClass)
        self._known.pop(item.key, None)
        self.version += 1
        if item.spec.extended_resource_name:
            self._class_of.pop(item.spec.extended_resource_name, None)
        self._class_of.pop(IMPLICIT_PREFIX + item.metadata.name, None)

    def _forget_explicit(self, before: DeviceClass) -> None:
        self._class_of.pop(before.spec.extended_resource_name, None)


def _precedes(one: DeviceClass, other: DeviceClass) -> bool:
    """Whether the first takes the name from the second: it is newer, or as old and its name is lower."""
    mine, theirs = one.metadata.creation_timestamp, other.metadata.creation_timestamp
    return mine > theirs or (mine == theirs and one.metadata.name < other.metadata.name)


def class_totals(
    class_: DeviceClass, inventory: Inventory, claims: Claims, node_name: str, labels: Mapping[str, str]
) -> tuple[int, int]:
    """How many devices of a class a node reaches, and how many of those are held. None of either if that breaks.

    Generations, whole pools and taints are not looked at: this is for scoring.
    """
    total = held = 0
    try:
        for facts in (*inventory.local(node_name), *inventory.shared()):
            for device in _reached(facts, node_name, labels):
                if _is_of(class_, device):
                    total += 1
                    held += claims.is_taken(device.id)
    except (InputError, EvaluationError, CompileError, CostExceeded):
        return 0, 0
    return total, held


def _reached(facts: SliceFacts, name: str, labels: Mapping[str, str]) -> Iterable[DeviceFacts]:
    if facts.slice.spec.per_device_node_selection:
        return [device for device in facts.devices if device.rule.matches(name, labels)]
    return facts.devices if not facts.rule.is_set or facts.rule.matches(name, labels) else ()


def _is_of(class_: DeviceClass, device: DeviceFacts) -> bool:
    for selector in class_.spec.selectors:
        answer = device.answer(selector.cel.expression) if selector.cel is not None else True
        if isinstance(answer, Exception):
            raise answer
        if not answer:
            return False
    return True

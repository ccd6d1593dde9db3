"""Keeps pods out of the queue until a ConfigMap opens their gate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from moorage.framework import Action, EventHint, Handle, Hint, PodInfo, Status, custom_kind, on, unschedulable

ConfigMap = custom_kind("v1", "ConfigMap")

GATE: Final = "example.com/gate"
"""The label of a pod: the key in the ConfigMap that has to say "open"."""


@dataclass(frozen=True)
class ConfigGateArgs:
    """Which ConfigMap of a pod's namespace holds the gates."""

    config_map: str = "gates"


class ConfigGate:
    """PreEnqueue: a pod that names a gate waits, without being tried, until the ConfigMap says "open"."""

    args_type: ClassVar = ConfigGateArgs
    #: Followed, and allowed to be read (`moorage manifests`).
    reads: ClassVar = (ConfigMap,)

    def __init__(self, args: ConfigGateArgs, handle: Handle) -> None:
        self.config_map = args.config_map
        self.objects = handle.snapshot.objects

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """The reason is shown as an event of the pod, once."""
        gate = pod.labels.get(GATE)
        if gate is None:
            return None
        found = self.objects.get(ConfigMap, f"{pod.namespace}/{self.config_map}")
        says = found.data.get(gate, "nothing") if found is not None else "nothing"
        return None if says == "open" else unschedulable(f'gate "{gate}" is closed: {self.config_map} says {says}')

    def events_to_register(self) -> Sequence[EventHint]:
        """Only ConfigMaps open gates."""
        return [on(ConfigMap, Action.ADD | Action.UPDATE, self._after_change)]

    def _after_change(self, pod: PodInfo, _old: Any, new: Any) -> Hint:
        meta = new.metadata
        is_ours = (meta.namespace, meta.name) == (pod.namespace, self.config_map)
        return Hint.QUEUE if is_ours and new.data.get(pod.labels.get(GATE, "")) == "open" else Hint.SKIP

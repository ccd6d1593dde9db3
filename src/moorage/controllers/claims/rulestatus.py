"""What the status of a DeviceTaintRule says: whether pods are being evicted for it, or would be."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from moorage.controllers.claims.taints import devices_of, evictable_devices, leaving_time, newest, pool_of, selects
from moorage.controllers.objects.claims import DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.controllers.objects.meta import Condition, as_json, condition_of
from moorage.controllers.objects.pods import Pod
from moorage.controllers.runtime.controller import ControllerContext
from moorage.values.taint import NO_EXECUTE
from moorage.values.time import time_of

EVICTION_IN_PROGRESS = "EvictionInProgress"
#: The shortest time between two updates of one status, in seconds, while nothing changes but the pods.
PERIOD = 10.0
NO_EFFECT = "None"


@dataclass(frozen=True)
class Effects:
    """What a rule does, or would do if its effect were NoExecute."""

    #: Pods that have to leave, and the number of their namespaces.
    pods: int = 0
    namespaces: int = 0
    #: Devices it selects: of those that drivers publish, and of those that claims hold.
    published: int = 0
    allocated: int = 0
    #: Pods evicted for it since the controller began.
    evicted: int = 0


def eviction_condition(rule: DeviceTaintRule, effects: Effects) -> Condition:
    """The condition as it ought to be, in Kubernetes' words; when it came to be so is left out."""
    status, reason, words = "False", "OtherEffect", ["Eviction only happens for the NoExecute effect."]
    if rule.spec.taint.effect == NO_EXECUTE:
        reason, words = "Completed" if effects.evicted else "NotStarted", []
        if effects.pods:
            status, reason = "True", "PodsPendingEviction"
            need = "pod needs" if effects.pods == 1 else "pods need"
            words = [f"{effects.pods} {need} to be evicted in {_namespaces(effects)}."]
    elif rule.spec.taint.effect == NO_EFFECT:
        reason, words = "NoEffect", [_simulated(effects)]
    if effects.evicted:
        words.append(f"{_count(effects.evicted, 'pod')} evicted since starting the controller.")
    return Condition(
        EVICTION_IN_PROGRESS, status, reason, " ".join(words), observed_generation=rule.metadata.generation
    )


def _simulated(effects: Effects) -> str:
    return (
        f"{_count(effects.published, 'published device')} selected. "
        f"{_count(effects.allocated, 'allocated device')} selected. "
        f"{_count(effects.pods, 'pod')} would be evicted in {_namespaces(effects)} if the effect was NoExecute. "
        "This information will not be updated again. Recreate the DeviceTaintRule to trigger an update."
    )


def _namespaces(effects: Effects) -> str:
    return "1 namespace" if effects.namespaces == 1 else f"{effects.namespaces} different namespaces"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class RuleStatuses:
    """Writes the statuses of rules."""

    def __init__(self, cluster: ControllerContext) -> None:
        self._cluster = cluster
        self._pods = cluster.informers.of(Pod)
        self._claims = cluster.informers.of(ResourceClaim)
        self._slices = cluster.informers.of(ResourceSlice)

    async def tell(self, rule: DeviceTaintRule, evicted: int) -> float | None:
        """Write what the rule does into its status, if that is news. Returns how long to wait where it is too soon."""
        known = condition_of(rule.status.conditions, EVICTION_IN_PROGRESS)
        if known is not None and known.observed_generation == rule.metadata.generation:
            since = self._cluster.clock() - (time_of(known.last_transition_time) or 0)
            if since < PERIOD:
                return PERIOD - since
        wanted = eviction_condition(rule, self._effects(rule, evicted))
        if known is None or replace(known, last_transition_time="") != wanted:
            told = replace(wanted, last_transition_time=self._cluster.now())
            await self._cluster.writer.patch_status(rule, {"conditions": as_json([told])}, strategic=True)
        return None

    def _effects(self, rule: DeviceTaintRule, evicted: int) -> Effects:
        """Counted only as far as the status tells of it."""
        effect = rule.spec.taint.effect
        if effect not in (NO_EXECUTE, NO_EFFECT):
            return Effects(evicted=evicted)
        pods = {pod.metadata.uid: pod.metadata.namespace for pod in self._driven_out_by(rule)}
        found = Effects(len(pods), len(set(pods.values())), evicted=evicted)
        if effect == NO_EXECUTE:
            return found
        return dataclasses.replace(
            found,
            published=sum(selects(rule, *device) for device in self._published()),
            allocated=sum(
                selects(rule, one.driver, one.pool, one.device) for claim in self._claims for one in devices_of(claim)
            ),
        )

    def _published(self) -> Iterator[tuple[str, str, str]]:
        pools: dict[str, list[ResourceSlice]] = {}
        for one in self._slices:
            pools.setdefault(pool_of(one), []).append(one)
        for slices in pools.values():
            for one in newest(slices):
                for device in one.spec.devices:
                    yield one.spec.driver, one.spec.pool.name, device.name

    def _driven_out_by(self, rule: DeviceTaintRule) -> Iterator[Pod]:
        """The pods that have to leave for this rule, or would if its effect were NoExecute; some more than once."""
        taint = replace(rule.spec.taint, effect=NO_EXECUTE)
        now = self._cluster.clock()
        for claim in self._claims:
            if not any(
                selects(rule, one.driver, one.pool, one.device)
                and leaving_time(taint, one.tolerations, now) is not None
                for one in evictable_devices(claim)
            ):
                continue
            for user in claim.status.reserved_for:
                pod = self._pods.get(user.name, claim.metadata.namespace)
                is_here = pod is not None and pod.metadata.uid == user.uid and bool(pod.spec.node_name)
                if pod is not None and is_here and not pod.metadata.is_terminating:
                    yield pod

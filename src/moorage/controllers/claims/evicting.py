"""Pods off devices whose NoExecute taints their claims do not tolerate, or not for ever."""

from collections.abc import Iterable, Iterator

from moorage.controllers.claims.releasing import EXTENDED
from moorage.controllers.objects.claims import DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.controllers.objects.meta import Condition, as_json, with_condition
from moorage.controllers.objects.pods import Pod
from moorage.controllers.runtime.controller import Cluster, Controller
from moorage.controllers.runtime.informers import key_of
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.objects import DeviceResult, DeviceTaint, Toleration
from moorage.values.taint import NO_EXECUTE, tolerates_device
from moorage.values.time import time_of

_PODS = resource_of("Pod")


class DeviceTaintEviction(Controller):
    """Deletes pods that a device's NoExecute taint drives out, when the patience of their claims with it ends."""

    name = "device-taint-eviction"
    workers = 4

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._pods = cluster.informers.watch(Pod, self._pod_changed)
        cluster.informers.watch(ResourceClaim, self._claim_changed)
        cluster.informers.watch(ResourceSlice, self._slice_changed)
        self._rules = cluster.informers.watch(DeviceTaintRule, self._rule_changed)
        self._by_pool = cluster.informers.index(ResourceClaim, _pools_of)
        self._by_user = cluster.informers.index(ResourceClaim, _users_of)
        self._slices = cluster.informers.index(ResourceSlice, _names_of)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.spec.node_name and (old is None or not old.spec.node_name):
            self.queue.add(key_of(new))

    def _claim_changed(self, _old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        for claim in (new,) if new is not None else ():
            for one in claim.status.reserved_for:
                self.queue.add((claim.metadata.namespace, one.name))

    def _slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        for pool in {_pool_name(one) for one in (old, new) if one is not None}:
            for claim in self._by_pool[pool]:
                self._claim_changed(None, claim)

    def _rule_changed(self, _old: DeviceTaintRule | None, _new: DeviceTaintRule | None) -> None:
        for pod in self._pods:
            if self._by_user[pod.metadata.uid]:
                self.queue.add(key_of(pod))

    async def sync(self, key: Key) -> float | None:
        """Delete a pod whose time with its devices has ended. Returns when it will have."""
        pod = self._pods.get(key[1], key[0])
        if pod is None or not pod.spec.node_name or not pod.is_active:
            return None
        now = self.cluster.clock()
        times = [
            leaves_at
            for claim in self._by_user[pod.metadata.uid]
            for result in _results(claim)
            for taint in self._taints(result)
            if (leaves_at := leaving_time(taint, result.tolerations, now)) is not None
        ]
        if not times:
            return None
        if min(times) > now:
            return min(times) - now
        await self._evict(pod)
        return None

    def _taints(self, result: DeviceResult) -> Iterator[DeviceTaint]:
        """The taints of a device that drive its users out: those of its newest slice, and those of rules."""
        slices = self._slices[f"{result.driver}/{result.pool}"]
        newest = max((one.spec.pool.generation for one in slices), default=0)
        for one in slices:
            for device in one.spec.devices if one.spec.pool.generation == newest else ():
                if device.name == result.device:
                    yield from (taint for taint in device.taints if taint.effect == NO_EXECUTE)
        for rule in self._rules:
            if rule.spec.taint.effect == NO_EXECUTE and _selects(rule, result):
                yield rule.spec.taint

    async def _evict(self, pod: Pod) -> None:
        told = Condition(
            "DisruptionTarget",
            "True",
            "DeletionByDeviceTaintManager",
            "Device Taint manager: deleting due to NoExecute taint",
            last_transition_time=self.cluster.now(),
        )
        conditions = with_condition(pod.status.conditions, told)
        await self.cluster.writer.patch_status(pod, {"conditions": as_json(conditions)}, is_guarded=True)
        self.record(pod, "DeviceTaintManagerEviction", "Marking for deletion", action="Evicting")
        meta = pod.metadata
        await self.cluster.writer.delete(_PODS, meta.name, meta.namespace, uid=meta.uid)


def leaving_time(taint: DeviceTaint, tolerations: Iterable[Toleration], now: float) -> float | None:
    """When the users of a device have to leave for this taint, in seconds since 1970; None for never.

    Tolerations count whose effect is spelled out. One without seconds holds for ever; of several the shortest counts.
    """
    since = time_of(taint.time_added or "") or now
    meeting = [one for one in tolerations if one.effect == NO_EXECUTE and tolerates_device(one, taint)]
    patience = [one.toleration_seconds for one in meeting if one.toleration_seconds is not None]
    if len(patience) < len(meeting):
        return None
    return since + max(0, min(patience, default=0))


def _results(claim: ResourceClaim) -> tuple[DeviceResult, ...]:
    allocation = claim.status.allocation
    return allocation.devices.results if allocation is not None and EXTENDED not in claim.metadata.annotations else ()


def _pools_of(claim: ResourceClaim) -> tuple[str, ...]:
    return tuple({f"{one.driver}/{one.pool}" for one in _results(claim)})


def _users_of(claim: ResourceClaim) -> tuple[str, ...]:
    return tuple({one.uid for one in claim.status.reserved_for})


def _pool_name(item: ResourceSlice) -> str:
    return f"{item.spec.driver}/{item.spec.pool.name}"


def _names_of(item: ResourceSlice) -> tuple[str, ...]:
    return (_pool_name(item),)


def _selects(rule: DeviceTaintRule, result: DeviceResult) -> bool:
    wanted = rule.spec.device_selector
    if wanted is None:
        return False
    asked = ((wanted.driver, result.driver), (wanted.pool, result.pool), (wanted.device, result.device))
    return all(one is None or one == has for one, has in asked)

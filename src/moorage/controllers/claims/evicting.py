"""Pods off devices whose NoExecute taints their claims do not tolerate, or not for ever."""

from collections import Counter
from collections.abc import Iterator

from moorage.controllers.claims.rulestatus import PERIOD, RuleStatuses
from moorage.controllers.claims.taints import evictable_devices, leaving_time, newest, pool_of, selects
from moorage.controllers.objects.claims import DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.controllers.objects.meta import Condition, as_json, with_condition
from moorage.controllers.objects.pods import Pod
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.objects import DeviceResult, DeviceTaint
from moorage.values.taint import NO_EXECUTE

_PODS = resource_of("Pod")


class DeviceTaintEviction(Controller):
    """Deletes pods that a device's NoExecute taint drives out, when the patience of their claims with it ends.

    And tells in the status of each rule whom it drives out. A key without a namespace is a rule's, else it is a pod's.
    """

    name = "device-taint-eviction"
    workers = 4

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._pods = cluster.informers.watch(Pod, self._pod_changed)
        cluster.informers.watch(ResourceClaim, self._claim_changed)
        cluster.informers.watch(ResourceSlice, self._slice_changed)
        self._rules = cluster.informers.watch(DeviceTaintRule, self._rule_changed)
        self._by_pool = cluster.informers.index(ResourceClaim, _pools_of)
        self._by_user = cluster.informers.index(ResourceClaim, _users_of)
        self._slices = cluster.informers.index(ResourceSlice, _names_of)
        self._statuses = RuleStatuses(cluster)
        #: Pods that are going to be evicted, by uid.
        self._leaving: set[str] = set()
        #: How many pods were evicted for a rule, by the rule's uid.
        self._evicted: Counter[str] = Counter()

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None and old is not None:
            self._leaving.discard(old.metadata.uid)
        if new is not None and new.spec.node_name and (old is None or not old.spec.node_name):
            self.queue.add(key_of(new))

    def _claim_changed(self, _old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        for claim in (new,) if new is not None else ():
            for one in claim.status.reserved_for:
                self.queue.add((claim.metadata.namespace, one.name))

    def _slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        for pool in {pool_of(one) for one in (old, new) if one is not None}:
            for claim in self._by_pool[pool]:
                self._claim_changed(None, claim)

    def _rule_changed(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        if new is None and old is not None:
            del self._evicted[old.metadata.uid]
        if old is not None and new is not None and old.spec == new.spec and old.metadata.uid == new.metadata.uid:
            return
        if new is not None:
            # Its status first: whom it is going to drive out.
            self.queue.add(key_of(new))
        for pod in self._pods:
            if self._by_user[pod.metadata.uid]:
                self.queue.add(key_of(pod))

    async def sync(self, key: Key) -> float | None:
        """Bring a pod, or the status of a rule, up to date. Returns when to look at it again."""
        if key[0]:
            return await self._sync_pod(key)
        rule = self._rules.get(key[1])
        return await self._statuses.tell(rule, self._evicted[rule.metadata.uid]) if rule is not None else None

    async def _sync_pod(self, key: Key) -> float | None:
        """Delete a pod whose time with its devices has ended. Returns when it will have."""
        pod = self._pods.get(key[1], key[0])
        if pod is None or not pod.spec.node_name or not pod.is_active:
            return None
        now = self.cluster.clock()
        times: list[float] = []
        rules: dict[str, DeviceTaintRule] = {}
        for claim in self._by_user[pod.metadata.uid]:
            for result in evictable_devices(claim):
                for taint, rule in self._taints(result):
                    leaves_at = leaving_time(taint, result.tolerations, now)
                    if leaves_at is not None:
                        times.append(leaves_at)
                        rules |= {rule.metadata.uid: rule} if rule is not None else {}
        if not times:
            if pod.metadata.uid in self._leaving:
                self._leaving.discard(pod.metadata.uid)
                self.record(pod, "DeviceTaintManagerEviction", "Cancelling deletion", action="Evicting")
            return None
        self._leaving.add(pod.metadata.uid)
        if min(times) <= now:
            await self._evict(pod)
            self._leaving.discard(pod.metadata.uid)
            self._evicted.update(rules.keys())
        for rule in rules.values():
            # Not at once: more pods may be about to go.
            self.queue.add_after(key_of(rule), PERIOD)
        return min(times) - now if min(times) > now else None

    def _taints(self, result: DeviceResult) -> Iterator[tuple[DeviceTaint, DeviceTaintRule | None]]:
        """The taints of a device that drive its users out: those of its newest slice, and those of rules."""
        for one in newest(self._slices[f"{result.driver}/{result.pool}"]):
            for device in one.spec.devices:
                if device.name == result.device:
                    yield from ((taint, None) for taint in device.taints if taint.effect == NO_EXECUTE)
        for rule in self._rules:
            if rule.spec.taint.effect == NO_EXECUTE and selects(rule, result.driver, result.pool, result.device):
                yield rule.spec.taint, rule

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


def _pools_of(claim: ResourceClaim) -> tuple[str, ...]:
    return tuple({f"{one.driver}/{one.pool}" for one in evictable_devices(claim)})


def _users_of(claim: ResourceClaim) -> tuple[str, ...]:
    return tuple({one.uid for one in claim.status.reserved_for})


def _names_of(item: ResourceSlice) -> tuple[str, ...]:
    return (pool_of(item),)

"""Making and deleting the pods of an owner, many at a time, and remembering what has not come back yet."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from moorage.controllers.objects.meta import Managed
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import Template
from moorage.controllers.runtime.controller import Controller
from moorage.controllers.runtime.expectations import Expectations
from moorage.controllers.runtime.informers import key_of
from moorage.controllers.runtime.ownership import controller_uids, owner_reference
from moorage.controllers.runtime.writer import is_namespace_terminating
from moorage.errors import ApiError
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING

Json = dict[str, Any]

BURST = 500
"""Pods made or deleted at one go."""
LARGEST_BATCH = 64
"""Pods are made in batches that double as long as all goes well: a template nobody takes costs one request."""

_PODS = resource_of("Pod")


class PodWork:
    """The pods that a controller's objects own. The controller looks at an owner whenever one of its pods changes."""

    def __init__(self, controller: Controller, owner_kind: str) -> None:
        self._controller = controller
        self._owner_kind = owner_kind
        self._writer = controller.cluster.writer
        self._expectations = Expectations(controller.cluster.clock)
        self.pods = controller.cluster.informers.watch(Pod, self._changed)
        self._owned = controller.cluster.informers.index(Pod, controller_uids)

    def is_settled(self, key: Key) -> bool:
        """Whether all that was made and deleted for an owner is known, so that its pods can be counted."""
        return self._expectations.are_met(key)

    def forget(self, key: Key) -> None:
        """The owner is gone."""
        self._expectations.forget(key)

    async def create(self, owner: Managed, bodies: Sequence[bytes]) -> ApiError | None:
        """Make pods of encoded bodies, in growing batches. Returns the failure that ended it, if any."""
        done, batch = 0, 1
        while done < len(bodies):
            now = bodies[done : done + batch]
            failure = await _first_failure([self._create_one(owner, body) for body in now])
            if failure is not None:
                if is_namespace_terminating(failure):
                    return None
                note = f"Error creating: {failure}"
                self._controller.record(owner, "FailedCreate", note, action="Creating", event_type=WARNING)
                return ApiError(str(failure), reason="FailedCreate")
            done += len(now)
            batch = min(batch * 2, LARGEST_BATCH)
        return None

    async def delete(self, owner: Managed, pods: Sequence[Pod]) -> ApiError | None:
        """Delete pods. Returns the first failure, if any; the other pods are deleted all the same."""
        self._expectations.deleted(key_of(owner), (pod.metadata.uid for pod in pods))
        failure = await _first_failure([self._delete_one(owner, pod) for pod in pods])
        return None if failure is None else ApiError(str(failure), reason="FailedDelete")

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        for pod in (old, new):
            owner = pod.metadata.controller if pod is not None else None
            if pod is None or owner is None or owner.kind != self._owner_kind:
                continue
            key = pod.metadata.namespace, owner.name
            if new is None or new.metadata.is_terminating:
                self._expectations.saw_gone(key, pod.metadata.uid)
            else:
                self._expectations.saw(key, pod.metadata.uid)
            self._controller.enqueue_counting(key, self._owned.count(owner.uid))

    async def _create_one(self, owner: Managed, body: bytes) -> None:
        key = key_of(owner)
        created = (await self._writer.create(_PODS, body, key[0]))["metadata"]
        seen = self.pods.get(created["name"], key[0])
        if seen is None or seen.metadata.uid != created["uid"]:
            self._expectations.created(key, created["uid"])
        self._controller.record(owner, "SuccessfulCreate", f"Created pod: {created['name']}", action="Creating")

    async def _delete_one(self, owner: Managed, pod: Pod) -> None:
        meta = pod.metadata
        try:
            await self._writer.delete(_PODS, meta.name, meta.namespace, uid=meta.uid)
        except ApiError:
            self._expectations.saw_gone(key_of(owner), meta.uid)
            raise
        self._controller.record(owner, "SuccessfulDelete", f"Deleted pod: {meta.name}", action="Deleting")


def pod_of(owner: Managed, template: Template, finalizers: Sequence[str] = ()) -> Json:
    """The pod that an owner's template describes."""
    metadata = template.get("metadata") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{owner.metadata.name}-",
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "finalizers": [*(metadata.get("finalizers") or ()), *finalizers],
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": template.get("spec") or {},
    }


async def _first_failure(attempts: Sequence[Coroutine[Any, Any, None]]) -> ApiError | None:
    """Make all attempts, together. Returns the first ApiError; anything else that is raised is a bug."""
    answers = await asyncio.gather(*attempts, return_exceptions=True)
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    for failure in failures:
        if not isinstance(failure, ApiError):
            raise failure
    return next((failure for failure in failures if isinstance(failure, ApiError)), None)

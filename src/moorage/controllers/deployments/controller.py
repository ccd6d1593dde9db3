"""The Deployment controller: one Deployment at a time, from its template to ReplicaSets of the right sizes."""

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.controllers.deployments import progress, revisions, sizes, templates
from moorage.controllers.deployments.progress import View
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import Deployment, DeploymentStatus, ReplicaSet
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.controllers.runtime.ownership import claim, controller_uids, orphanages, owner_reference
from moorage.controllers.runtime.writer import is_namespace_terminating
from moorage.errors import ApiError
from moorage.kube.errors import AlreadyExists
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING
from moorage.objects import LabelSelector, convert
from moorage.values.selector import compile_selector

Json = dict[str, Any]

_REPLICA_SETS = resource_of("ReplicaSet")
_MATCHES_ALL = LabelSelector()


class DeploymentController(Controller):
    """Rolls out each Deployment."""

    name = "deployment"
    workers = 5

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._deployments = cluster.informers.watch(Deployment, self.enqueue)
        self._sets = cluster.informers.of(ReplicaSet)
        self._owned = cluster.informers.index(ReplicaSet, controller_uids)
        self._orphans = cluster.informers.index(ReplicaSet, orphanages)
        self._pods = cluster.informers.index(Pod, controller_uids)
        cluster.informers.watch(ReplicaSet, self._set_changed)
        cluster.informers.watch(Pod, self._pod_changed)

    def _set_changed(self, old: ReplicaSet | None, new: ReplicaSet | None) -> None:
        for each in (old, new):
            owner = each.metadata.controller if each is not None else None
            if each is not None and owner is not None and owner.kind == Deployment.KIND:
                self.queue.add((each.metadata.namespace, owner.name))
        if new is not None and new.metadata.controller is None:
            for deployment in self._deployments:
                if deployment.metadata.namespace == new.metadata.namespace:
                    self.queue.add(key_of(deployment))

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """The last old pod going is what a Deployment that recreates waits for."""
        owner = old.metadata.controller if old is not None and new is None else None
        if old is None or owner is None or owner.kind != ReplicaSet.KIND:
            return
        replica_set = self._sets.get(owner.name, old.metadata.namespace)
        deployment = replica_set.metadata.controller if replica_set is not None else None
        if deployment is not None:
            self.queue.add((old.metadata.namespace, deployment.name))

    async def sync(self, key: Key) -> float | None:
        """Bring one Deployment up to date."""
        deployment = self._deployments.get(key[1], key[0])
        if deployment is None or deployment.spec.selector in (None, _MATCHES_ALL):
            return None
        selector = compile_selector(deployment.spec.selector)
        owned, orphans = self._owned[deployment.metadata.uid], self._orphans[key[0]]
        replica_sets = await claim(deployment, selector, owned, orphans, self.cluster.writer)
        view = self._view(deployment, replica_sets)
        if deployment.metadata.is_terminating:
            return await self._write_status(view, progress.counted(view))
        if deployment.spec.paused:
            return await self._keep_size(view)
        if revisions.was_resized(deployment, replica_sets):
            return await self._keep_size(view)
        return await self._roll_out(view)

    def _view(self, deployment: Deployment, replica_sets: Sequence[ReplicaSet]) -> View:
        new = templates.find_new(deployment, replica_sets)
        return View(deployment, replica_sets, new, self.cluster.clock())

    async def _keep_size(self, view: View) -> float | None:
        """Paused, or resized in the middle of things: sizes follow the Deployment, templates do not."""
        limits = {
            each.metadata.name: _number(each.metadata.annotations.get(revisions.MAX_REPLICAS))
            or view.deployment.status.replicas
            for each in view.replica_sets
        }
        wanted = sizes.resized(view.deployment, view.replica_sets, view.new, limits)
        # All are marked with the new size, or they would look resized again and again.
        for each in view.replica_sets:
            size = wanted.get(each.metadata.name, each.spec.replicas)
            if each.spec.replicas or size:
                await self._scale(view.deployment, each, size)
        status = progress.counted(view)
        if view.deployment.spec.paused:
            status = progress.paused(view, status)
        return await self._write_status(view, status)

    async def _roll_out(self, view: View) -> float | None:
        """Towards the present template, as far as the strategy allows now."""
        recreates = view.deployment.spec.strategy.type != sizes.ROLLING
        old = [each for each in view.replica_sets if each is not view.new]
        if recreates and (sizes.total(old) or self._have_pods(old)):
            await self._scale_to(view, sizes.recreated_sizes(old))
            return await self._write_status(view, progress.with_progress(view, progress.counted(view)))
        new = await self._ensure_new(view, old)
        if new is None:
            return None
        was_created = view.new is None
        view = View(view.deployment, [*old, new], new, view.now)
        wanted = sizes.new_size(view.deployment, view.replica_sets, new)
        if new.spec.replicas != wanted:
            await self._scale(view.deployment, new, wanted)
        elif not recreates:
            await self._scale_to(view, sizes.old_sizes(view.deployment, old, new))
        status = progress.begun(view, progress.counted(view), was_created=was_created)
        status = progress.with_progress(view, status)
        if progress.is_complete(view.deployment, status):
            await self._clean_up(view.deployment, old)
        return await self._write_status(view, status)

    def _have_pods(self, replica_sets: Sequence[ReplicaSet]) -> bool:
        return any(not pod.is_finished for each in replica_sets for pod in self._pods[each.metadata.uid])

    async def _ensure_new(self, view: View, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
        """The ReplicaSet of the present template, made if there is none; None where the next sync knows more."""
        deployment, new = view.deployment, view.new
        revision = revisions.next_revision(old)
        if new is None:
            new = await self._create_new(view, revision)
            if new is None:
                return None
        else:
            new = await self._annotate_new(deployment, new, revision)
        told = new.metadata.annotations.get(revisions.REVISION, "")
        if told != deployment.metadata.annotations.get(revisions.REVISION):
            await self.cluster.writer.patch(deployment, {"metadata": {"annotations": {revisions.REVISION: told}}})
        return new

    async def _annotate_new(self, deployment: Deployment, new: ReplicaSet, revision: int) -> ReplicaSet:
        annotations = revisions.new_annotations(deployment, new, revision)
        patch: Json = {}
        if not annotations.items() <= new.metadata.annotations.items():
            patch["metadata"] = {"annotations": annotations}
        if new.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
            patch["spec"] = {"minReadySeconds": deployment.spec.min_ready_seconds}
        if not patch:
            return new
        return convert(await self.cluster.writer.patch(new, patch, is_guarded=True), ReplicaSet)

    async def _create_new(self, view: View, revision: int) -> ReplicaSet | None:
        deployment = view.deployment
        body = new_replica_set(deployment, revision, sizes.new_size(deployment, view.replica_sets, None))
        name = body["metadata"]["name"]
        try:
            answer = await self.cluster.writer.create(_REPLICA_SETS, body, deployment.metadata.namespace)
        except AlreadyExists:
            return await self._existing_new(deployment, name)
        except ApiError as error:
            if is_namespace_terminating(error):
                return None
            note = f'Failed to create new replica set "{name}": {error}'
            self.record(deployment, "ReplicaSetCreateError", note, action="Creating", event_type=WARNING)
            raise
        created = convert(answer, ReplicaSet)
        if created.spec.replicas:
            self._record_scaling(deployment, created, 0)
        return created

    async def _existing_new(self, deployment: Deployment, name: str) -> ReplicaSet | None:
        """Ours, made a moment ago and not seen yet; or somebody else's, and the next hash has to differ."""
        found = convert(await self.cluster.writer.get(_REPLICA_SETS, name, deployment.metadata.namespace), ReplicaSet)
        owner = found.metadata.controller
        is_ours = owner is not None and owner.uid == deployment.metadata.uid
        if is_ours and templates.are_same(found.spec.template, deployment.spec.template):
            return found
        count = (deployment.status.collision_count or 0) + 1
        await self.cluster.writer.patch_status(deployment, {"collisionCount": count}, is_guarded=True)
        return None

    async def _scale_to(self, view: View, wanted: sizes.Sizes) -> None:
        for each in view.replica_sets:
            if each.metadata.name in wanted:
                await self._scale(view.deployment, each, wanted[each.metadata.name])

    async def _scale(self, deployment: Deployment, replica_set: ReplicaSet, size: int) -> None:
        """Set a ReplicaSet's size, and note for which size of the Deployment that was done."""
        annotations = revisions.size_annotations(deployment)
        is_marked = annotations.items() <= replica_set.metadata.annotations.items()
        if replica_set.spec.replicas == size and is_marked:
            return
        patch = {"metadata": {"annotations": annotations}, "spec": {"replicas": size}}
        await self.cluster.writer.patch(replica_set, patch, is_guarded=True)
        if replica_set.spec.replicas != size:
            before = replica_set.spec.replicas
            scaled = msgspec.structs.replace(replica_set, spec=msgspec.structs.replace(replica_set.spec, replicas=size))
            self._record_scaling(deployment, scaled, before)

    def _record_scaling(self, deployment: Deployment, replica_set: ReplicaSet, before: int) -> None:
        size = replica_set.spec.replicas
        way = "up" if size > before else "down"
        note = f"Scaled {way} replica set {replica_set.metadata.name} from {before} to {size}"
        self.record(deployment, "ScalingReplicaSet", note, action="Scaling")

    async def _clean_up(self, deployment: Deployment, old: Sequence[ReplicaSet]) -> None:
        """Forget revisions beyond the limit, the oldest first."""
        idle = [each for each in old if not each.metadata.is_terminating and not each.spec.replicas]
        idle = [each for each in idle if not each.status.replicas]
        idle.sort(key=lambda each: (revisions.revision_of(each), each.metadata.creation_timestamp))
        surplus = len(idle) - deployment.spec.revision_history_limit
        for each in idle[: max(0, surplus)]:
            meta = each.metadata
            await self.cluster.writer.delete(_REPLICA_SETS, meta.name, meta.namespace, uid=meta.uid)

    async def _write_status(self, view: View, status: DeploymentStatus) -> float | None:
        """Write what has changed. Returns when to look whether the rollout is stuck."""
        if status != view.deployment.status:
            await self.cluster.writer.patch_status(view.deployment, progress.status_json(status))
        return progress.stuck_in(view.deployment, status, view.now)


def new_replica_set(deployment: Deployment, revision: int, size: int) -> Json:
    """The ReplicaSet of the Deployment's template."""
    spec = deployment.spec
    name = templates.template_hash(spec.template, deployment.status.collision_count)
    template = templates.with_hash(spec.template, name)
    selector: Json = msgspec.to_builtins(spec.selector)
    labels = {**selector.get("matchLabels", {}), templates.HASH_LABEL: name}
    annotations = revisions.new_annotations(deployment, None, revision)
    return {
        "apiVersion": _REPLICA_SETS.api_version,
        "kind": _REPLICA_SETS.kind,
        "metadata": {
            "name": f"{deployment.metadata.name}-{name}",
            "labels": template["metadata"]["labels"],
            "annotations": {**annotations, **revisions.size_annotations(deployment)},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {
            "replicas": size,
            "minReadySeconds": spec.min_ready_seconds,
            "selector": {**selector, "matchLabels": labels},
            "template": template,
        },
    }


def _number(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() else 0

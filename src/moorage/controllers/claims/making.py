"""Claims made for pods, from templates. The pod owns them, and its status says which is which."""

from typing import Any

from moorage.controllers.objects.claims import ResourceClaim, ResourceClaimTemplate
from moorage.controllers.objects.pods import Pod
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.controllers.runtime.ownership import controller_uids, owner_reference
from moorage.controllers.runtime.writer import is_namespace_terminating
from moorage.errors import ApiError
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING
from moorage.objects import PodResourceClaim

Json = dict[str, Any]

#: Which of the pod's entries a claim was made for.
ENTRY = "resource.kubernetes.io/pod-claim-name"
#: The API server appends five characters to a generated name, and all of it is a label of a host.
MOST_OF_A_NAME = 57

_CLAIMS = resource_of("ResourceClaim")


class ClaimMaker(Controller):
    """Makes the claims that pods name by template."""

    name = "resourceclaim"
    workers = 10

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._pods = cluster.informers.watch(Pod, self._pod_changed)
        self._templates = cluster.informers.watch(ResourceClaimTemplate, self._template_changed)
        self._claims = cluster.informers.of(ResourceClaim)
        self._owned = cluster.informers.index(ResourceClaim, controller_uids)
        self._by_template = cluster.informers.index(Pod, templates_of)
        #: What was made and is not known from the informer yet: pod and entry -> the claim's name.
        self._made: dict[tuple[str, str], str] = {}

    def _pod_changed(self, _old: Pod | None, new: Pod | None) -> None:
        if new is not None and any(True for _ in _waiting(new)):
            self.queue.add(key_of(new))

    def _template_changed(self, _old: ResourceClaimTemplate | None, new: ResourceClaimTemplate | None) -> None:
        for pod in self._by_template[new.key] if new is not None else ():
            self._pod_changed(None, pod)

    async def sync(self, key: Key) -> float | None:
        """Make what one pod lacks, and write down what there is."""
        pod = self._pods.get(key[1], key[0])
        if pod is None or not pod.is_active:
            return None
        waiting = list(_waiting(pod))
        if not waiting:
            return None
        known = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
        for entry in waiting:
            known[entry.name] = self._existing(pod, entry) or await self._make(pod, entry)
        statuses = [{"name": name, "resourceClaimName": known[name]} for name in sorted(known)]
        await self.cluster.writer.patch_status(pod, {"resourceClaimStatuses": statuses})
        for entry in waiting:
            self._made.pop((pod.metadata.uid, entry.name), None)
        return None

    def _existing(self, pod: Pod, entry: PodResourceClaim) -> str:
        owned = self._owned[pod.metadata.uid]
        found = (claim.metadata.name for claim in owned if claim.metadata.annotations.get(ENTRY) == entry.name)
        return next(found, self._made.get((pod.metadata.uid, entry.name), ""))

    async def _make(self, pod: Pod, entry: PodResourceClaim) -> str:
        namespace, name = pod.metadata.namespace, entry.resource_claim_template_name
        template = self._templates.get(name, namespace)
        if template is None:
            note = f'resource claim template "{name}": resourceclaimtemplate.resource.k8s.io "{name}" not found'
            raise self._failed(pod, entry, ApiError(note, reason="NotFound"))
        metadata = template.spec.metadata
        body = {
            "apiVersion": _CLAIMS.api_version,
            "kind": _CLAIMS.kind,
            "metadata": {
                "generateName": prefix(pod.metadata.name, entry.name),
                "labels": metadata.get("labels") or {},
                "annotations": {**(metadata.get("annotations") or {}), ENTRY: entry.name},
                "ownerReferences": [owner_reference(pod)],
            },
            "spec": template.spec.spec,
        }
        try:
            made = await self.cluster.writer.create(_CLAIMS, body, namespace)
        except ApiError as refusal:
            raise refusal if is_namespace_terminating(refusal) else self._failed(pod, entry, refusal) from None
        claim: str = made["metadata"]["name"]
        self._made[pod.metadata.uid, entry.name] = claim
        return claim

    def _failed(self, pod: Pod, entry: PodResourceClaim, refusal: ApiError) -> ApiError:
        note = f"PodResourceClaim {entry.name}: {refusal}"
        self.record(pod, "FailedResourceClaimCreation", note, action="Creating", event_type=WARNING)
        return refusal


def prefix(pod: str, entry: str) -> str:
    """What the names of the claims made for an entry begin with; cut in proportion where that is long."""
    whole = f"{pod}-{entry}-"
    if len(whole) <= MOST_OF_A_NAME:
        return whole
    total = len(pod) + len(entry)
    return pod[: len(pod) * MOST_OF_A_NAME // total] + entry[: len(entry) * MOST_OF_A_NAME // total]


def templates_of(pod: Pod) -> tuple[str, ...]:
    """An index of pods by the templates they name."""
    namespace = pod.metadata.namespace
    names = (one.resource_claim_template_name for one in pod.spec.resource_claims)
    return tuple(dict.fromkeys(f"{namespace}/{name}" for name in names if name))


def _waiting(pod: Pod) -> list[PodResourceClaim]:
    """The entries whose claim the pod's status does not name yet."""
    known = {one.name for one in pod.status.resource_claim_statuses}
    return [one for one in pod.spec.resource_claims if one.resource_claim_template_name and one.name not in known]

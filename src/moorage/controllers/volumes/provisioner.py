"""A simulated provisioner: volumes made for claims at once, and taken away after them."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from moorage.controllers.objects.nodes import Node
from moorage.controllers.objects.volumes import (
    PROVISIONED_BY,
    RELEASED,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.kube.errors import AlreadyExists
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING
from moorage.objects import TopologySelectorTerm

Json = dict[str, Any]

TOPOLOGY_KEY = "moorage.dev/topology-key"
"""A parameter of storage classes: the node label whose value says from where a volume can be reached."""
ZONE_LABEL = "topology.kubernetes.io/zone"

_VOLUMES = resource_of("PersistentVolume")


class VolumeProvisioner(Controller):
    """Stands in for every provisioner that a storage class names, whatever its name."""

    name = "volume-provisioner"
    workers = 4

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._claims = cluster.informers.watch(PersistentVolumeClaim, self.enqueue)
        self._volumes = cluster.informers.watch(PersistentVolume, self.enqueue)
        self._classes = cluster.informers.of(StorageClass)
        self._nodes = cluster.informers.of(Node)

    async def sync(self, key: Key) -> float | None:
        """Make a volume for the claim of this key, or take away the volume; a volume has no namespace."""
        namespace, name = key
        if namespace:
            claim = self._claims.get(name, namespace)
            if claim is not None:
                await self._provision(claim)
        else:
            volume = self._volumes.get(name)
            if volume is not None:
                await self._reclaim(volume)
        return None

    async def _provision(self, claim: PersistentVolumeClaim) -> None:
        storage_class = self._classes.get(claim.class_name) if claim.class_name else None
        asked_for = claim.metadata.annotations.get(STORAGE_PROVISIONER)
        if storage_class is None or asked_for != storage_class.provisioner:
            return
        if claim.spec.volume_name or claim.metadata.is_terminating:
            return
        node: Node | None = None
        if storage_class.waits_for_consumer:
            selected = claim.metadata.annotations.get(SELECTED_NODE, "")
            node = self._nodes.get(selected)
            if node is None:
                return
        await self._make(claim, storage_class, topology_of(claim, storage_class, node))

    async def _make(self, claim: PersistentVolumeClaim, storage_class: StorageClass, topology: Json | None) -> None:
        if claim.selector is not None:
            note = "claim.Spec.Selector is not supported: a volume that is made has no labels to select"
            self.record(claim, "ProvisioningFailed", note, action="Provisioning", event_type=WARNING)
            return
        body = volume_for(claim, storage_class, topology)
        try:
            await self.cluster.writer.create(_VOLUMES, body)
        except AlreadyExists:
            return
        note = f"Successfully provisioned volume {body['metadata']['name']}"
        self.record(claim, "ProvisioningSucceeded", note, action="Provisioning")

    async def _reclaim(self, volume: PersistentVolume) -> None:
        is_ours = PROVISIONED_BY in volume.metadata.annotations
        is_to_go = volume.spec.persistent_volume_reclaim_policy == "Delete" and volume.status.phase == RELEASED
        if is_ours and is_to_go and not volume.metadata.is_terminating:
            meta = volume.metadata
            await self.cluster.writer.delete(_VOLUMES, key_of(volume)[1], uid=meta.uid)


def volume_for(claim: PersistentVolumeClaim, storage_class: StorageClass, topology: Json | None) -> Json:
    """The volume made for a claim: as large as asked for, reserved for it, reached from where `topology` says."""
    meta, spec = claim.metadata, claim.spec
    name = f"pvc-{meta.uid}"
    volume: Json = {
        "capacity": {"storage": spec.resources.requests.get("storage", "0")},
        "accessModes": list(spec.access_modes),
        "claimRef": {
            "apiVersion": claim.API_VERSION,
            "kind": claim.KIND,
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        },
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy or "Delete",
        "storageClassName": storage_class.metadata.name,
        "volumeMode": spec.volume_mode or "Filesystem",
        "csi": {"driver": storage_class.provisioner, "volumeHandle": name},
    }
    if spec.volume_attributes_class_name:
        volume["volumeAttributesClassName"] = spec.volume_attributes_class_name
    if storage_class.mount_options:
        volume["mountOptions"] = list(storage_class.mount_options)
    if topology is not None:
        volume["nodeAffinity"] = {"required": topology}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: storage_class.provisioner}},
        "spec": volume,
    }


def topology_of(claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node | None) -> Json | None:
    """From where the volume can be reached, as a node selector; None for everywhere.

    A volume made for a node is reached from nodes like it: by the label the class names, those it allows topologies
    by, or the zone. One made for nobody yet goes to one of the topologies the class allows.
    """
    if node is None:
        return _selector(_allowed_choice(storage_class.allowed_topologies, claim.metadata.uid))
    keys = _topology_keys(storage_class)
    labels = node.metadata.labels
    return _selector({key: labels[key] for key in keys if key in labels})


def _topology_keys(storage_class: StorageClass) -> Sequence[str]:
    named = storage_class.parameters.get(TOPOLOGY_KEY)
    if isinstance(named, str):
        return (named,)
    allowed = [item.key for term in storage_class.allowed_topologies for item in term.match_label_expressions]
    return list(dict.fromkeys(allowed)) or (ZONE_LABEL,)


def _allowed_choice(terms: Sequence[TopologySelectorTerm], uid: str) -> dict[str, str]:
    """One value of each key of one allowed term: always the same for a claim, evenly over many."""
    if not terms:
        return {}
    number = zlib.crc32(uid.encode())
    expressions = terms[number % len(terms)].match_label_expressions
    return {item.key: item.values[number % len(item.values)] for item in expressions if item.values}


def _selector(labels: Mapping[str, str]) -> Json | None:
    if not labels:
        return None
    expressions = [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]
    return {"nodeSelectorTerms": [{"matchExpressions": expressions}]}

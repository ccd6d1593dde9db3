"""From which nodes a volume can be reached: spec.nodeAffinity, also as a migrated volume's CSI driver puts it."""

import numpy as np

from moorage.columns import NodeInfo, NodeTable, ObjectStore, Rows
from moorage.objects import CSINode, PersistentVolume, VolumeNodeAffinity
from moorage.plugins.volumes.csi_migration import InTreePlugin, csi_affinity, in_tree_plugin, is_migrated_on
from moorage.plugins.volumes.label_rows import RowMask, rows_meeting_any
from moorage.values.nodeselector import Term, TermSelector, compile_node_selector
from moorage.values.selector import Labels

#: A node's name is never told to a volume's affinity: requirements on metadata.name meet an empty one.
NO_NAME = ""

#: Compiled affinities are dropped and made anew beyond this many.
_MOST_KEPT = 1 << 16


class VolumeAffinities:
    """Node affinities of volumes, compiled once each."""

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[VolumeNodeAffinity, TermSelector | None]] = {}

    def of(self, volume: PersistentVolume) -> TermSelector | None:
        """The compiled affinity of a volume, None where every node can reach it."""
        affinity = volume.spec.node_affinity
        if affinity is None:
            return None
        known = self._compiled.get(volume.metadata.name)
        if known is not None and known[0] is affinity:
            return known[1]
        if len(self._compiled) >= _MOST_KEPT:
            self._compiled.clear()
        compiled = _compile(affinity)
        self._compiled[volume.metadata.name] = (affinity, compiled)
        return compiled


class Reachability:
    """Whether nodes reach volumes that are bound already."""

    def __init__(self, objects: ObjectStore, affinities: VolumeAffinities) -> None:
        self._objects = objects
        self._affinities = affinities

    def reaches(self, node: NodeInfo, volume: PersistentVolume) -> bool:
        """Whether the node reaches the volume. Raises InputError where a migrated volume cannot be translated."""
        plugin = _migrated_plugin(volume)
        if plugin is not None and is_migrated_on(plugin, self._objects.get(CSINode, node.name)):
            return _matches(_compile(csi_affinity(volume)), node.labels)
        return _matches(self._affinities.of(volume), node.labels)

    def rows_reaching(self, nodes: NodeTable, rows: Rows, volume: PersistentVolume) -> RowMask:
        """The same for many rows."""
        mask = _matching_rows(nodes, rows, self._affinities.of(volume))
        plugin = _migrated_plugin(volume)
        if plugin is not None:
            csi_nodes = (self._objects.get(CSINode, nodes.infos[row].name) for row in rows.tolist())
            migrated = np.array([is_migrated_on(plugin, csi_node) for csi_node in csi_nodes], dtype=bool)
            if migrated.any():
                translated = _matching_rows(nodes, rows, _compile(csi_affinity(volume)))
                mask = np.where(migrated, translated, mask)
        return mask


def _migrated_plugin(volume: PersistentVolume) -> InTreePlugin | None:
    plugin = in_tree_plugin(volume.spec)
    return plugin if plugin is not None and plugin.is_migrated else None


def _compile(affinity: VolumeNodeAffinity | None) -> TermSelector | None:
    if affinity is None or affinity.required is None:
        return None
    # QUIRK: kube-scheduler asks about labels alone, so what a term says of the node's name is not looked at.
    compiled = compile_node_selector(affinity.required)
    return TermSelector(tuple(Term(term.labels, ()) for term in compiled.terms))


def _matches(affinity: TermSelector | None, labels: Labels) -> bool:
    return affinity is None or affinity.matches(NO_NAME, labels)


def _matching_rows(nodes: NodeTable, rows: Rows, affinity: TermSelector | None) -> RowMask:
    if affinity is None:
        return np.ones(len(rows), dtype=bool)
    return rows_meeting_any(nodes, rows, (term.labels for term in affinity.terms))

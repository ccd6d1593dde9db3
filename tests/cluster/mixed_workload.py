"""A workload of everything that decides where pods go, the same for the same seed."""

from random import Random
from typing import Any

Tree = dict[str, Any]

ZONES = ("north", "south", "west")
APPS = ("web", "db", "cache", "batch")
EFFECTS = ("NoSchedule", "PreferNoSchedule")


class MixedWorkload:
    """Nodes and pods with selectors, affinities, spreading, taints, ports and requests of all sizes."""

    def __init__(self, seed: int, world: str) -> None:
        self._random = Random(seed)
        self._world = world

    def node(self, number: int) -> Tree:
        """Labels, spec and amounts of a node."""
        draw = self._random
        labels = {"disk": draw.choice(("ssd", "hdd")), "rank": str(draw.randrange(5))}
        if draw.random() < 0.9:
            labels["topology.kubernetes.io/zone"] = ZONES[number % len(ZONES)]
        taints = []
        if draw.random() < 0.25:
            taints.append({"key": "team", "value": draw.choice("ab"), "effect": draw.choice(EFFECTS)})
        spec: Tree = {"taints": taints, "unschedulable": draw.random() < 0.05}
        return {
            "labels": labels,
            "spec": spec,
            "cpu": str(draw.choice((2, 4, 8))),
            "memory": f"{draw.choice((4, 8))}Gi",
        }

    def pod(self, number: int) -> Tree:
        """Name, labels and spec of a pod."""
        draw = self._random
        app = draw.choice(APPS)
        requests = {"cpu": f"{draw.choice((250, 500, 1000, 2500))}m", "memory": f"{draw.choice((64, 256, 1024))}Mi"}
        container: Tree = {"name": "main", "image": "example/app:1", "resources": {"requests": requests}}
        if draw.random() < 0.1:
            container["ports"] = [{"containerPort": 80, "hostPort": 8000 + draw.randrange(2)}]
        spec: Tree = {"containers": [container], "nodeSelector": {"world": self._world}}
        if draw.random() < 0.2:
            spec["nodeSelector"]["disk"] = draw.choice(("ssd", "hdd"))
        if draw.random() < 0.4:
            spec["tolerations"] = [{"key": "team", "operator": "Equal", "value": draw.choice("ab")}]
        affinity = self._affinity(app)
        if affinity:
            spec["affinity"] = affinity
        if draw.random() < 0.3:
            spec["topologySpreadConstraints"] = [self._spread(app)]
        return {"name": f"pod-{number:03d}", "metadata": {"labels": {"app": app}}, "spec": spec}

    def _affinity(self, app: str) -> Tree:
        draw = self._random
        affinity: Tree = {}
        if draw.random() < 0.2:
            rank = {"key": "rank", "operator": draw.choice(("Gt", "Lt")), "values": ["2"]}
            term = {"weight": draw.randrange(1, 100), "preference": {"matchExpressions": [rank]}}
            affinity["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
        if draw.random() < 0.15:
            affinity["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [_near(app)]}
        if draw.random() < 0.2:
            wish = {"weight": draw.randrange(1, 100), "podAffinityTerm": _near(draw.choice(APPS), "zone")}
            affinity["podAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}
        return affinity

    def _spread(self, app: str) -> Tree:
        return {
            "maxSkew": self._random.choice((1, 2)),
            "topologyKey": self._random.choice(("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
            "whenUnsatisfiable": self._random.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": {"matchLabels": {"app": app}},
        }


def _near(app: str, topology: str = "hostname") -> Tree:
    key = "kubernetes.io/hostname" if topology == "hostname" else "topology.kubernetes.io/zone"
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}

"""What the demo creates: nodes, a configuration with three profiles, workloads."""

from typing import Any

from moorage.nodes.shapes import NodeShape, parse_shape

PACKER = "packer"
GREEN = "green"
PLUGIN = "moorage.cli.demo.plugin:PreferGreenNodes"

ZONE = "topology.kubernetes.io/zone"

CONFIGURATION: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {"multiPoint": {"enabled": [{"name": "StickyJob"}]}},
        },
        {
            "schedulerName": PACKER,
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}},
            ],
        },
        {
            "schedulerName": GREEN,
            "plugins": {"multiPoint": {"enabled": [{"name": "PreferGreenNodes", "weight": 10}]}},
        },
    ],
}


def nodes() -> list[NodeShape]:
    """Six small nodes in three zones, one more with green power, and one kept for GPUs."""
    return [
        parse_shape("name=node,count=6,cpu=4,memory=8Gi,zones=north;east;south"),
        parse_shape("name=solar,count=1,cpu=4,memory=8Gi,zones=south,labels=power:green"),
        parse_shape(
            "name=gpu,count=1,cpu=8,memory=32Gi,zones=east,nvidia.com/gpu=4,taints=nvidia.com/gpu=yes:NoSchedule"
        ),
    ]


def a_pod(
    name: str, *, cpu: str, memory: str = "256Mi", scheduler: str = "", priority_class: str = ""
) -> dict[str, Any]:
    """A pod with one container."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": pod_spec(cpu, memory, scheduler=scheduler, priority_class=priority_class),
    }


def pod_spec(cpu: str, memory: str, *, scheduler: str = "", priority_class: str = "") -> dict[str, Any]:
    """What runs in it, and who places it."""
    spec: dict[str, Any] = {
        "containers": [
            {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": cpu, "memory": memory}}},
        ],
        "terminationGracePeriodSeconds": 0,
    }
    if scheduler:
        spec["schedulerName"] = scheduler
    if priority_class:
        spec["priorityClassName"] = priority_class
    return spec


def a_deployment(name: str, replicas: int, *, cpu: str, memory: str = "256Mi", spread: bool = False) -> dict[str, Any]:
    """A Deployment, evenly over the zones if asked."""
    labels = {"app": name}
    spec = pod_spec(cpu, memory)
    if spread:
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": labels},
            }
        ]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def a_priority_class(name: str, value: int) -> dict[str, Any]:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }

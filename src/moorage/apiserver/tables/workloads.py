"""Columns of Deployments, ReplicaSets, Jobs and their kin."""

from typing import Any

from moorage.apiserver.registry import Column, Table
from moorage.apiserver.tables.rows import (
    AGE,
    NAME,
    NONE,
    age,
    labels_text,
    selector_text,
    short_duration,
    since,
    wide,
)
from moorage.values.time import parse_time

Json = dict[str, Any]

_TEMPLATE = (wide("Containers"), wide("Images"))
_TEMPLATE_AND_SELECTOR = (*_TEMPLATE, wide("Selector"))


def _template_cells(template: Json | None) -> list[str]:
    containers = ((template or {}).get("spec") or {}).get("containers", ())
    names = ",".join(container.get("name", "") for container in containers)
    return [names, ",".join(container.get("image", "") for container in containers)]


def _deployment(obj: Json, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    return [
        obj["metadata"]["name"],
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj, now),
        *_template_cells(spec.get("template")),
        selector_text(spec.get("selector")),
    ]


def _replicas(obj: Json, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    selector = spec.get("selector")
    is_plain = obj["kind"] == "ReplicationController"
    return [
        obj["metadata"]["name"],
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(obj, now),
        *_template_cells(spec.get("template")),
        labels_text(selector) if is_plain else selector_text(selector),
    ]


def _statefulset(obj: Json, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [obj["metadata"]["name"], ready, age(obj, now), *_template_cells(spec.get("template"))]


def _daemonset(obj: Json, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    node_selector = ((spec.get("template") or {}).get("spec") or {}).get("nodeSelector")
    return [
        obj["metadata"]["name"],
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels_text(node_selector),
        age(obj, now),
        *_template_cells(spec.get("template")),
        selector_text(spec.get("selector")),
    ]


def _job(obj: Json, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    done = status.get("succeeded", 0)
    if "completions" in spec:
        completions = f"{done}/{spec['completions']}"
    else:
        several = spec.get("parallelism", 0) > 1
        completions = f"{done}/1 of {spec['parallelism']}" if several else f"{done}/1"
    return [
        obj["metadata"]["name"],
        _job_status(obj["metadata"], status),
        completions,
        _job_duration(status, now),
        age(obj, now),
        *_template_cells(spec.get("template")),
        selector_text(spec.get("selector")),
    ]


def _job_status(metadata: Json, status: Json) -> str:
    true = {c.get("type") for c in status.get("conditions", ()) if c.get("status") == "True"}
    for condition in ("Complete", "Failed"):
        if condition in true:
            return condition
    if "deletionTimestamp" in metadata:
        return "Terminating"
    return next((c for c in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if c in true), "Running")


def _job_duration(status: Json, now: float) -> str:
    if "startTime" not in status:
        return ""
    end = parse_time(status["completionTime"]) if "completionTime" in status else now
    return short_duration(end - parse_time(status["startTime"]))


def _cronjob(obj: Json, now: float) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    template = (spec.get("jobTemplate") or {}).get("spec") or {}
    last = status.get("lastScheduleTime")
    return [
        obj["metadata"]["name"],
        spec.get("schedule", ""),
        spec.get("timeZone", NONE),
        str(spec.get("suspend", False)).capitalize(),
        len(status.get("active", ())),
        since(last, now) if last else NONE,
        age(obj, now),
        *_template_cells(template.get("template")),
        selector_text(template.get("selector")),
    ]


def _number(name: str) -> Column:
    return Column(name, "integer")


_REPLICAS = Table(
    (NAME, _number("Desired"), _number("Current"), _number("Ready"), AGE, *_TEMPLATE_AND_SELECTOR), _replicas
)
WORKLOADS: dict[str, Table] = {
    "deployments.apps": Table(
        (NAME, Column("Ready"), Column("Up-to-date"), Column("Available"), AGE, *_TEMPLATE_AND_SELECTOR), _deployment
    ),
    "replicasets.apps": _REPLICAS,
    "replicationcontrollers": _REPLICAS,
    "statefulsets.apps": Table((NAME, Column("Ready"), AGE, *_TEMPLATE), _statefulset),
    "daemonsets.apps": Table(
        (
            NAME,
            _number("Desired"),
            _number("Current"),
            _number("Ready"),
            _number("Up-to-date"),
            _number("Available"),
            Column("Node Selector"),
            AGE,
            *_TEMPLATE_AND_SELECTOR,
        ),
        _daemonset,
    ),
    "jobs.batch": Table(
        (NAME, Column("Status"), Column("Completions"), Column("Duration"), AGE, *_TEMPLATE_AND_SELECTOR), _job
    ),
    "cronjobs.batch": Table(
        (
            NAME,
            Column("Schedule"),
            Column("Timezone"),
            Column("Suspend", "boolean"),
            _number("Active"),
            Column("Last Schedule"),
            AGE,
            *_TEMPLATE_AND_SELECTOR,
        ),
        _cronjob,
    ),
}

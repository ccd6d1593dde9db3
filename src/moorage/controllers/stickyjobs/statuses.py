"""From runs to the status of a StickyJob: pure steps, each giving the status with one thing more in it."""

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from moorage.controllers.objects.meta import Condition, as_json, condition_of, with_condition, without_condition
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.stickyjobs import StickyJob, StickyJobStatus
from moorage.controllers.stickyjobs.runs import End, ended_at, seconds_run
from moorage.objects import COMPLETE
from moorage.values.time import format_time, time_of

Json = dict[str, Any]

PENDING, RUNNING, BACK_OFF, INVALID = "Pending", "Running", "BackOff", "Invalid"

RUNNING_CONDITION = "Running"
TEMPLATE_CONDITION = "TemplateUsable"

FIRST_BACK_OFF, LONGEST_BACK_OFF = 10.0, 300.0
"""Seconds from the end of a run that failed to the next pod, doubling with each that fails in a row."""
STEADY_RUN = 600.0
"""Seconds after which a run that fails is the first to fail in a row."""
SHORTEST_ROUND = 10.0
"""Seconds from start to start of runs that succeed, where they are to go on for ever."""

#: The parts of a template that are taken apart here, and what they have to be where they are there.
_PARTS: tuple[tuple[tuple[str, ...], type], ...] = (
    (("spec",), dict),
    (("metadata",), dict),
    (("metadata", "labels"), dict),
    (("metadata", "annotations"), dict),
    (("metadata", "finalizers"), list),
)

PRUNED = (
    "spec.template has no containers: a CustomResourceDefinition without x-kubernetes-preserve-unknown-fields: true "
    "under spec.template prunes it to {}. Print Moorage's with `moorage manifests --definitions`, apply it, and apply "
    "this StickyJob again"
)


@dataclass(frozen=True, slots=True)
class Told:
    """A phase, with the reason and message of the condition Running."""

    phase: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Why nothing can be made of a template: the reason and message of its condition."""

    reason: str
    message: str


def template_fault(job: StickyJob) -> Fault | None:
    """What is wrong with the template as far as we take it apart ourselves; the API server says the rest of its pod."""
    template = job.spec.template
    for path, kind in _PARTS:
        part = _part(template, path)
        if part is not None and not isinstance(part, kind):
            what = "an object" if kind is dict else "a list"
            return Fault("TemplateInvalid", f"spec.template.{'.'.join(path)}: expected {what}, got {part!r}")
    if not _part(template, ("spec", "containers")):
        return Fault("TemplatePruned", PRUNED)
    return None


def _part(template: Json, path: tuple[str, ...]) -> Any:
    part: Any = template
    for name in path:
        part = (part or {}).get(name)
    return part


def with_last_node(status: StickyJobStatus, node_name: str, node_uid: str) -> StickyJobStatus:
    """The pod really ran there. A UID that is not known now does not replace one that was."""
    if node_name == status.last_node and not node_uid:
        return status
    return replace(status, last_node=node_name, last_node_uid=node_uid)


def with_end(job: StickyJob, status: StickyJobStatus, pod: Pod, end: End, now: float) -> StickyJobStatus:
    """The run counted, once: its pod's uid says that it was."""
    if status.pod_uid == pod.metadata.uid:
        return status
    status = replace(status, pod_uid=pod.metadata.uid, retry_time="")
    at = ended_at(pod) or now
    if end is End.SUCCEEDED:
        wait = SHORTEST_ROUND - seconds_run(pod) if job.spec.completions is None else 0.0
        retry_time = format_time(at + wait) if wait > 0 else ""
        return replace(status, succeeded=status.succeeded + 1, failures=0, retry_time=retry_time)
    if end is End.FAILED:
        failures = 1 if seconds_run(pod) >= STEADY_RUN else status.failures + 1
        wait = min(FIRST_BACK_OFF * 2.0 ** min(failures - 1, 16), LONGEST_BACK_OFF)
        return replace(status, failures=failures, retry_time=format_time(at + wait))
    return status


def retry_in(status: StickyJobStatus, now: float) -> float:
    """Seconds until another pod may be made."""
    at = time_of(status.retry_time) if status.retry_time else None
    return 0.0 if at is None else max(0.0, at - now)


def with_phase(job: StickyJob, status: StickyJobStatus, told: Told, now: str) -> StickyJobStatus:
    """The status with a phase and what people are told about it."""
    generation = job.metadata.generation
    running = Condition(
        RUNNING_CONDITION,
        "True" if told.phase == RUNNING else "False",
        told.reason,
        told.message,
        last_transition_time=now,
        observed_generation=generation,
    )
    conditions = with_condition(status.conditions, running)
    fault = template_fault(job)
    if fault is None:
        conditions = without_condition(conditions, TEMPLATE_CONDITION)
    else:
        unusable = Condition(
            TEMPLATE_CONDITION, "False", fault.reason, fault.message, now, observed_generation=generation
        )
        conditions = with_condition(conditions, unusable)
    return replace(status, phase=told.phase, observed_generation=generation, conditions=conditions)


def of_pod(pod: Pod) -> Told:
    """What to say of a job whose pod has not ended."""
    name, node = pod.metadata.name, pod.spec.node_name
    if pod.status.phase == "Running":
        return Told(RUNNING, "PodRunning", f"pod {name} runs on {node}")
    scheduled = condition_of(pod.status.conditions, "PodScheduled")
    if scheduled is not None and scheduled.status == "False":
        return Told(PENDING, scheduled.reason, scheduled.message)
    return Told(PENDING, "PodPending", f"pod {name} starts on {node}" if node else f"pod {name} waits for a node")


def of_end(job: StickyJob, status: StickyJobStatus, pod: Pod) -> Told:
    """What to say of a job whose pod has ended."""
    name = pod.metadata.name
    if job.spec.completions is not None and status.succeeded >= job.spec.completions:
        return complete(status)
    if status.retry_time:
        how = f"pod {name} failed ({status.failures} in a row)" if status.failures else f"pod {name} ended early"
        return Told(BACK_OFF, "PodFailed" if status.failures else "PodEnded", f"{how}; the next comes then")
    return Told(PENDING, "PodEnding", f"pod {name} ends; the next comes when it is gone")


def complete(status: StickyJobStatus) -> Told:
    """What to say of a job that is done."""
    return Told(COMPLETE, "Completed", f"{status.succeeded} runs succeeded")


def status_json(status: StickyJobStatus) -> Json:
    """As a merge patch takes it: what is empty goes."""
    return {
        "lastNode": status.last_node or None,
        "lastNodeUID": status.last_node_uid or None,
        "phase": status.phase or None,
        "podName": status.pod_name or None,
        "podUID": status.pod_uid or None,
        "succeeded": status.succeeded,
        "failures": status.failures,
        "retryTime": status.retry_time or None,
        "observedGeneration": status.observed_generation,
        "conditions": as_json(status.conditions),
    }

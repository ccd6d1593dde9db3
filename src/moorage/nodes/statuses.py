"""Pod statuses as a kubelet writes them."""

from collections.abc import Mapping
from typing import Any

from moorage.nodes.objects import HostedPod
from moorage.nodes.runs import Run, State
from moorage.objects import Container
from moorage.values.time import format_time

Json = dict[str, Any]

_PHASES = {
    State.STARTING: "Pending",
    State.RUNNING: "Running",
    State.BACKING_OFF: "Running",
    State.SUCCEEDED: "Succeeded",
    State.FAILED: "Failed",
    State.REMOVED: "Failed",
}

_HELD_BACK = {"reason": "ReadinessGatesNotReady", "message": "a condition among the readiness gates is not True"}


def pod_status(run: Run, host_ip: str) -> Json:
    """The status of a pod, to be merged into what others have written of it (conditions by their type)."""
    status: Json = {
        "phase": _PHASES[run.state],
        "startTime": format_time(run.admitted_at),
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
    }
    if run.reason:
        status["reason"] = run.reason
        status["message"] = run.message
    if generation := run.pod.metadata.generation:
        status["observedGeneration"] = generation
    if run.is_refused:
        return status
    if run.ip:
        status["podIP"] = run.ip
        status["podIPs"] = [{"ip": run.ip}]
    status["conditions"] = _conditions(run)
    spec = run.pod.spec
    if spec.init_containers:
        status["initContainerStatuses"] = [_init_container_status(item, run) for item in spec.init_containers]
    status["containerStatuses"] = [_container_status(item, run, _state(run)) for item in spec.containers]
    return status


def is_ready(run: Run, gates: Mapping[str, str]) -> bool:
    """Whether the pod may serve: its containers run and whoever has a say agrees (`gates`: condition to status)."""
    return run.state is State.RUNNING and all(
        gates.get(gate.condition_type) == "True" for gate in run.pod.spec.readiness_gates
    )


def gates_of(pod: HostedPod) -> Mapping[str, str]:
    """The conditions others set, as far as readiness depends on them."""
    return {condition.type: condition.status for condition in pod.status.conditions}


def _conditions(run: Run) -> list[Json]:
    """All conditions a kubelet writes. The time of one changes only with its status."""
    known = {condition.type: condition for condition in run.pod.status.conditions}
    conditions = []
    for kind, holds, why in _facts(run):
        status = "True" if holds else "False"
        before = known.get(kind)
        since = before.last_transition_time if before is not None and before.status == status else ""
        stamp = since or format_time(run.changed_at)
        conditions.append({"type": kind, "status": status, "lastTransitionTime": stamp, **why})
    return conditions


def _facts(run: Run) -> list[tuple[str, bool, Json]]:
    """What holds of a pod, and where it does not, why."""
    runs = run.state is State.RUNNING
    ready = is_ready(run, gates_of(run.pod))
    unready = {} if runs else _why_not_running(run)
    return [
        ("PodScheduled", True, {}),
        ("PodReadyToStartContainers", not run.is_finished, {}),
        ("Initialized", run.state is not State.STARTING, {}),
        ("Ready", ready, _HELD_BACK if runs and not ready else unready),
        ("ContainersReady", runs, unready),
    ]


def _why_not_running(run: Run) -> Json:
    if run.state is State.SUCCEEDED:
        return {"reason": "PodCompleted"}
    if run.is_finished:
        return {"reason": "PodFailed"}
    names = " ".join(container.name for container in run.pod.spec.containers)
    return {"reason": "ContainersNotReady", "message": f"containers with unready status: [{names}]"}


def _container_status(container: Container, run: Run, state: Json) -> Json:
    runs = "running" in state
    status: Json = {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "restartCount": run.restarts,
        "ready": runs,
        "started": runs,
        "state": state,
        "lastState": {},
    }
    if run.state is not State.STARTING:
        status["containerID"] = f"moorage://{run.uid}/{container.name}/{run.restarts}"
    if run.restarts or run.state is State.BACKING_OFF:
        status["lastState"] = {"terminated": _terminated(run)}
    return status


def _init_container_status(container: Container, run: Run) -> Json:
    """Init containers finish at once; those that are sidecars go on beside the others."""
    if container.is_sidecar:
        return _container_status(container, run, _state(run))
    if run.state is State.STARTING:
        return {**_container_status(container, run, _state(run)), "restartCount": 0}
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": format_time(run.admitted_at)}
    state = {"terminated": {**ended, "finishedAt": format_time(run.admitted_at)}}
    return {**_container_status(container, run, state), "ready": True, "restartCount": 0, "lastState": {}}


def _state(run: Run) -> Json:
    match run.state:
        case State.STARTING:
            return {"waiting": {"reason": "ContainerCreating"}}
        case State.RUNNING:
            return {"running": {"startedAt": format_time(run.started_at)}}
        case State.BACKING_OFF:
            message = f"back-off {run.back_off:.0f}s restarting failed container"
            return {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
        case _:
            return {"terminated": _terminated(run)}


def _terminated(run: Run) -> Json:
    ended_at = run.started_at if run.state is State.RUNNING else run.changed_at
    return {
        "exitCode": run.exit_code,
        "reason": "Error" if run.exit_code else "Completed",
        "startedAt": format_time(run.started_at or run.admitted_at),
        "finishedAt": format_time(ended_at),
    }

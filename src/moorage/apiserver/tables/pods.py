"""Columns of pods: the status that kubectl's users know takes some finding out."""

from typing import Any

from moorage.apiserver.registry import Column, Table
from moorage.apiserver.tables.rows import AGE, NAME, NONE, age, since, wide

Json = dict[str, Any]


def _cells(pod: Json, now: float) -> list[Any]:
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    sidecars = {c["name"] for c in spec.get("initContainers", ()) if c.get("restartPolicy") == "Always"}
    reason, ready, restarts, last = _summary(status, spec, sidecars)
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            reason = "Terminating"
    restarts_text = f"{restarts} ({since(last, now)} ago)" if restarts and last else str(restarts)
    total = len(spec.get("containers", ())) + len(sidecars)
    addresses = status.get("podIPs") or [{"ip": status.get("podIP", "")}]
    return [
        pod["metadata"]["name"],
        f"{ready}/{total}",
        reason,
        restarts_text,
        age(pod, now),
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def _summary(status: Json, spec: Json, sidecars: set[str]) -> tuple[str, int, int, str]:
    """Reason, ready containers, restarts, time of the last restart."""
    reason = status.get("reason") or status.get("phase", "")
    for condition in status.get("conditions", ()):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    init_reason, ready, restarts, last = _init_summary(status, spec, sidecars)
    if init_reason and not _is_true(status, "Initialized"):
        return init_reason, ready, restarts, last
    restarts = sum(s.get("restartCount", 0) for s in status.get("initContainerStatuses", ()) if s["name"] in sidecars)
    return _main_summary(status, reason, ready, restarts)


def _init_summary(status: Json, spec: Json, sidecars: set[str]) -> tuple[str, int, int, str]:
    ready = restarts = 0
    last = ""
    for position, container in enumerate(status.get("initContainerStatuses", ())):
        restarts += container.get("restartCount", 0)
        last = max(last, _finished(container))
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if container["name"] in sidecars and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        if ended is not None:
            return f"Init:{_ended_text(ended)}", ready, restarts, last
        if waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}", ready, restarts, last
        return f"Init:{position}/{len(spec.get('initContainers', ()))}", ready, restarts, last
    return "", ready, restarts, last


def _main_summary(status: Json, reason: str, ready: int, restarts: int) -> tuple[str, int, int, str]:
    has_running, error, last = False, "", ""
    for container in reversed(status.get("containerStatuses", ())):
        restarts += container.get("restartCount", 0)
        last = max(last, _finished(container))
        state = container.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated")
        if waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = _ended_text(ended)
            error = reason if ended.get("exitCode") else error
        elif container.get("ready") and "running" in state:
            has_running = True
            ready += 1
    if reason == "Completed":
        if has_running and _is_true(status, "Ready"):
            reason = "Running"
        else:
            reason = error or ("NotReady" if has_running else reason)
    return reason, ready, restarts, last


def _ended_text(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _finished(container: Json) -> str:
    ended = (container.get("lastState") or {}).get("terminated") or {}
    stamp: str = ended.get("finishedAt", "")
    return stamp


def _is_true(status: Json, condition: str) -> bool:
    return any(c.get("type") == condition and c.get("status") == "True" for c in status.get("conditions", ()))


def _readiness_gates(spec: Json, status: Json) -> str:
    gates = spec.get("readinessGates", ())
    if not gates:
        return NONE
    return f"{sum(_is_true(status, gate.get('conditionType', '')) for gate in gates)}/{len(gates)}"


PODS = Table(
    (
        NAME,
        Column("Ready"),
        Column("Status"),
        Column("Restarts"),
        AGE,
        wide("IP"),
        wide("Node"),
        wide("Nominated Node"),
        wide("Readiness Gates"),
    ),
    _cells,
)

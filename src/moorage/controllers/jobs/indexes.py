"""Indexed Jobs: one pod has to succeed for each index from 0 up."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

from moorage.controllers.jobs.counting import TRACKING
from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.workloads import Job
from moorage.controllers.runtime.podwork import pod_of

Json = dict[str, Any]

INDEX = "batch.kubernetes.io/job-completion-index"
"""The annotation and label of a pod that says for which index it runs."""
_VARIABLE = "JOB_COMPLETION_INDEX"


def index_of(pod: Pod) -> int | None:
    """The index a pod runs for; None where it says none."""
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else None


def completed_indexes(job: Job, pods: Iterable[Pod]) -> set[int]:
    """The indexes done: those the status has, and those of pods that have succeeded since."""
    done = set(parse_indexes(job.status.completed_indexes))
    for pod in pods:
        index = index_of(pod)
        if pod.status.phase == "Succeeded" and TRACKING in pod.metadata.finalizers and index is not None:
            done.add(index)
    return {index for index in done if index < (job.spec.completions or 0)}


def missing_indexes(job: Job, completed: Collection[int], active: Iterable[Pod], count: int) -> list[int]:
    """The lowest indexes that are neither done nor being worked on, as many as asked for."""
    taken = {index_of(pod) for pod in active}
    free = (index for index in range(job.spec.completions or 0) if index not in completed and index not in taken)
    return list(islice(free, count))


def surplus_pods(job: Job, completed: Collection[int], active: Sequence[Pod]) -> list[Pod]:
    """Active pods for an index that is done, is not asked for, or that another one works on already."""
    surplus, seen = [], set()
    for pod in sorted(active, key=lambda pod: (not pod.is_ready, pod.metadata.creation_timestamp)):
        index = index_of(pod)
        if index is None or index in seen or index in completed or index >= (job.spec.completions or 0):
            surplus.append(pod)
        seen.add(index)
    return surplus


def indexed_pod(job: Job, index: int) -> Json:
    """The pod of one index: it is named after it, labelled with it, and its containers are told."""
    pod = deepcopy(pod_of(job, job.spec.template, [TRACKING]))
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["generateName"] = f"{job.metadata.name}-{index}-"
    metadata["annotations"][INDEX] = metadata["labels"][INDEX] = str(index)
    spec["hostname"] = f"{job.metadata.name}-{index}"
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        variables = container.setdefault("env", [])
        if not any(variable.get("name") == _VARIABLE for variable in variables):
            variables.append({"name": _VARIABLE, "valueFrom": source})
    return pod


def parse_indexes(text: str) -> Iterator[int]:
    """Indexes from their short form, "0-2,5". What is no such form is left out: only controllers write it."""
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            yield from range(int(first), int(last or first) + 1)


def format_indexes(indexes: Collection[int]) -> str:
    """The short form: runs of three and more as a range, as Kubernetes writes it."""
    parts: list[str] = []
    run: list[int] = []
    for index in [*sorted(indexes), None]:
        if run and index != run[-1] + 1:
            parts += [f"{run[0]}-{run[-1]}"] if len(run) > 2 else map(str, run)
            run = []
        if index is not None:
            run.append(index)
    return ",".join(parts)

"""Defaults of Deployments, ReplicaSets, Jobs and their kin."""

from typing import Any

from moorage.apiserver.defaults.pods import default_template

Json = dict[str, Any]

_EVERY_INDEX = 2**31 - 1


def default_deployment(obj: Json) -> None:
    """One replica, rolling by quarters."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_template(spec.get("template"))


def default_replicaset(obj: Json) -> None:
    """One replica."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    default_template(spec.get("template"))


def default_replicationcontroller(obj: Json) -> None:
    """One replica; selector and labels from the template."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    default_template(template)
    labels = ((template or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)


def default_daemonset(obj: Json) -> None:
    """One node at a time."""
    spec = obj.setdefault("spec", {})
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.get("template"))


def default_statefulset(obj: Json) -> None:
    """One replica, in order, claims kept."""
    spec = obj.setdefault("spec", {})
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_template(spec.get("template"))
    for claim in spec.get("volumeClaimTemplates", ()):
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("apiVersion", "v1")


def default_job(obj: Json) -> None:
    """One pod to completion, six retries."""
    spec = obj.setdefault("spec", {})
    default_job_spec(spec)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def default_job_spec(spec: Json) -> None:
    """The spec of a Job, or of a CronJob's template."""
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _EVERY_INDEX if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    for rule in (spec.get("podFailurePolicy") or {}).get("rules", ()):
        for pattern in rule.get("onPodConditions", ()):
            if not pattern.get("status"):
                pattern["status"] = "True"
    default_template(spec.get("template"))


def default_cronjob(obj: Json) -> None:
    """Concurrent runs allowed, three successes and one failure kept."""
    spec = obj.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = (spec.get("jobTemplate") or {}).get("spec", {}).get("template")
    default_template(template)


def default_podtemplate(obj: Json) -> None:
    """The template of a PodTemplate."""
    default_template(obj.get("template"))

"""Rules for Deployments, ReplicaSets, Jobs and their kin."""

from typing import Any

from moorage.apiserver.validation.faults import Faults
from moorage.apiserver.validation.pods import validate_template
from moorage.apiserver.validation.rules import (
    immutable,
    in_range,
    int_or_percent,
    is_empty_selector,
    label_selector,
    not_negative,
    not_over_all,
    one_of,
    selector_matches,
)

Json = dict[str, Any]


def _validate_selector(spec: Json, kind: str, faults: Faults) -> None:
    selector = spec.get("selector")
    if selector is None:
        faults.required("spec.selector")
        return
    before = len(faults)
    label_selector(selector, "spec.selector", faults)
    if is_empty_selector(selector):
        faults.invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
    elif len(faults) == before and not selector_matches(selector, _template_labels(spec)):
        faults.invalid(
            "spec.template.metadata.labels", _template_labels(spec), "`selector` does not match template `labels`"
        )


def _template_labels(spec: Json) -> Json:
    return ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}


def _validate_restart(spec: Json, policies: tuple[str, ...], faults: Faults) -> None:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy and policy not in policies:
        faults.not_supported("spec.template.spec.restartPolicy", policy, policies)


def validate_deployment(obj: Json, faults: Faults) -> None:
    """Replicas, selector, template, strategy."""
    spec = obj["spec"]
    not_negative(spec.get("replicas"), "spec.replicas", faults)
    _validate_selector(spec, "deployment", faults)
    validate_template(spec.get("template"), "spec.template", faults)
    _validate_restart(spec, ("Always",), faults)
    for name in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        not_negative(spec.get(name), f"spec.{name}", faults)
    if spec.get("progressDeadlineSeconds", 600) <= spec.get("minReadySeconds", 0):
        deadline = spec.get("progressDeadlineSeconds")
        faults.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")
    _validate_deployment_strategy(spec.get("strategy") or {}, faults)


def _validate_deployment_strategy(strategy: Json, faults: Faults) -> None:
    one_of(strategy.get("type"), ("Recreate", "RollingUpdate"), "spec.strategy.type", faults, required=True)
    rolling = strategy.get("rollingUpdate")
    if strategy.get("type") == "Recreate" and rolling is not None:
        faults.forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
    if strategy.get("type") == "RollingUpdate" and rolling is not None:
        for name in ("maxUnavailable", "maxSurge"):
            int_or_percent(rolling.get(name), f"spec.strategy.rollingUpdate.{name}", faults)
        not_over_all(rolling.get("maxUnavailable"), "spec.strategy.rollingUpdate.maxUnavailable", faults)
        if all(rolling.get(name) in (0, "0%") for name in ("maxUnavailable", "maxSurge")):
            faults.invalid(
                "spec.strategy.rollingUpdate.maxUnavailable",
                rolling.get("maxUnavailable"),
                "may not be 0 when `maxSurge` is 0",
            )


def validate_replicaset(obj: Json, faults: Faults) -> None:
    """Replicas, selector, template."""
    spec = obj["spec"]
    not_negative(spec.get("replicas"), "spec.replicas", faults)
    not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", faults)
    _validate_selector(spec, "deployment", faults)
    validate_template(spec.get("template"), "spec.template", faults)
    _validate_restart(spec, ("Always",), faults)


def validate_replicationcontroller(obj: Json, faults: Faults) -> None:
    """Replicas, selector, template."""
    spec = obj["spec"]
    not_negative(spec.get("replicas"), "spec.replicas", faults)
    if not spec.get("selector"):
        faults.required("spec.selector")
    elif not spec["selector"].items() <= _template_labels(spec).items():
        faults.invalid(
            "spec.template.metadata.labels", _template_labels(spec), "`selector` does not match template `labels`"
        )
    validate_template(spec.get("template"), "spec.template", faults)


def validate_daemonset(obj: Json, faults: Faults) -> None:
    """Selector, template, strategy."""
    spec = obj["spec"]
    _validate_selector(spec, "daemonset", faults)
    validate_template(spec.get("template"), "spec.template", faults)
    _validate_restart(spec, ("Always",), faults)
    kind = (spec.get("updateStrategy") or {}).get("type")
    one_of(kind, ("OnDelete", "RollingUpdate"), "spec.updateStrategy.type", faults)


def validate_statefulset(obj: Json, faults: Faults) -> None:
    """Replicas, selector, template, policies."""
    spec = obj["spec"]
    not_negative(spec.get("replicas"), "spec.replicas", faults)
    _validate_selector(spec, "statefulset", faults)
    validate_template(spec.get("template"), "spec.template", faults)
    _validate_restart(spec, ("Always",), faults)
    one_of(spec.get("podManagementPolicy"), ("OrderedReady", "Parallel"), "spec.podManagementPolicy", faults)
    kind = (spec.get("updateStrategy") or {}).get("type")
    one_of(kind, ("OnDelete", "RollingUpdate"), "spec.updateStrategy.type", faults)


def validate_job(obj: Json, faults: Faults) -> None:
    """Counts, selector, template that ends."""
    spec = obj["spec"]
    validate_job_spec(spec, "spec", faults)
    expected = {"matchLabels": {"batch.kubernetes.io/controller-uid": obj["metadata"].get("uid")}}
    if not spec.get("manualSelector") and spec.get("selector") != expected:
        faults.invalid("spec.selector", spec.get("selector"), "`selector` not auto-generated")


def validate_job_spec(spec: Json, path: str, faults: Faults) -> None:
    """The spec of a Job, or of a CronJob's template."""
    for name in ("parallelism", "completions", "backoffLimit", "ttlSecondsAfterFinished", "backoffLimitPerIndex"):
        not_negative(spec.get(name), f"{path}.{name}", faults)
    not_negative(spec.get("activeDeadlineSeconds"), f"{path}.activeDeadlineSeconds", faults)
    one_of(spec.get("completionMode"), ("NonIndexed", "Indexed"), f"{path}.completionMode", faults)
    if spec.get("completionMode") == "Indexed":
        if "completions" not in spec:
            faults.required(f"{path}.completions", "when completion mode is Indexed")
        in_range(spec.get("parallelism"), 0, 100_000, f"{path}.parallelism", faults)
    label_selector(spec.get("selector"), f"{path}.selector", faults)
    validate_template(spec.get("template"), f"{path}.template", faults)
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy == "Always":
        faults.required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


def validate_job_update(new: Json, old: Json, faults: Faults) -> None:
    """Completions, selector and template stay; scheduling of a suspended job may change."""
    spec, before = new["spec"], old["spec"]
    immutable(spec.get("selector"), before.get("selector"), "spec.selector", faults)
    immutable(spec.get("completionMode"), before.get("completionMode"), "spec.completionMode", faults)
    if spec.get("completionMode") != "Indexed":
        immutable(spec.get("completions"), before.get("completions"), "spec.completions", faults)
    if not (before.get("suspend") and not (old.get("status") or {}).get("startTime")):
        immutable(spec.get("template"), before.get("template"), "spec.template", faults)


def validate_cronjob(obj: Json, faults: Faults) -> None:
    """A schedule and a job."""
    spec = obj["spec"]
    if not spec.get("schedule"):
        faults.required("spec.schedule")
    elif len(fields := spec["schedule"].split()) != 5 and not spec["schedule"].startswith("@"):
        problem = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        faults.invalid("spec.schedule", spec["schedule"], problem)
    one_of(spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"), "spec.concurrencyPolicy", faults)
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit", "startingDeadlineSeconds"):
        not_negative(spec.get(name), f"spec.{name}", faults)
    template = (spec.get("jobTemplate") or {}).get("spec")
    if template is None:
        faults.required("spec.jobTemplate")
    else:
        validate_job_spec(template, "spec.jobTemplate.spec", faults)


def keeps_selector(new: Json, old: Json, faults: Faults) -> None:
    """Which pods belong to a workload is decided once."""
    immutable(new["spec"].get("selector"), old["spec"].get("selector"), "spec.selector", faults)


_STATEFULSET_MUTABLE = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)


def validate_statefulset_update(new: Json, old: Json, faults: Faults) -> None:
    """Claims, service and selector stay."""
    spec, before = new["spec"], old["spec"]
    names = (spec.keys() | before.keys()) - _STATEFULSET_MUTABLE
    if any(spec.get(name) != before.get(name) for name in names):
        faults.forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )


_COUNTS = (
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "terminatingReplicas",
    "fullyLabeledReplicas",
    "currentReplicas",
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "active",
    "succeeded",
    "failed",
    "collisionCount",
    "observedGeneration",
)


def validate_counts(new: Json, _old: Json, faults: Faults) -> None:
    """What a controller counts is never negative."""
    found = new.get("status") or {}
    for name in _COUNTS:
        not_negative(found.get(name), f"status.{name}", faults)

"""Who bound a pod stands on it; what is not for this binder is bound as ever."""

from pathlib import Path

import pytest
from examples.custom_binder.plugin import BOUND_AT, BOUND_BY, AuditedBinder

from moorage.framework import Pod
from moorage.testing import Cluster, Run, a_node, a_pod


@pytest.fixture
def run() -> Run:
    config = Path(__file__).with_name("scheduler.yaml")
    return Cluster(a_node("n")).run(plugins=[AuditedBinder], config=config)


def annotations(run: Run, pod: str, namespace: str = "default") -> dict[str, str]:
    found: Pod = run.get(Pod, pod, namespace)
    return found.metadata.annotations


def test_who_bound_a_pod_stands_on_it(run: Run) -> None:
    run.add(a_pod("web"))
    assert run.node_of("web") == "n"
    assert annotations(run, "web") == {BOUND_BY: "team-platform", BOUND_AT: "2026-01-01T00:00:00+00:00"}


def test_pods_of_others_are_left_to_the_next() -> None:
    run = Cluster(a_node("n")).run(
        plugins=[AuditedBinder],
        config={
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [
                {
                    "plugins": {
                        "bind": {
                            "enabled": [{"name": "AuditedBinder"}, {"name": "DefaultBinder"}],
                            "disabled": [{"name": "*"}],
                        }
                    },
                    "pluginConfig": [{"name": "AuditedBinder", "args": {"namespaces": ["audited"]}}],
                }
            ],
        },
    )
    run.add(a_pod("web"), a_pod("ledger").namespace("audited"))
    assert run.node_of("web") == run.node_of("ledger", "audited") == "n"
    assert annotations(run, "web") == {}
    assert annotations(run, "ledger", "audited")[BOUND_BY] == "moorage"

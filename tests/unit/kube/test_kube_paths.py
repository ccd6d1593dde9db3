from typing import ClassVar

import pytest

from moorage.errors import InputError
from moorage.kube.paths import RESOURCES, ApiResource, resource_of
from moorage.objects import KubeObject, Pod


def test_paths_of_core_and_grouped_kinds() -> None:
    pods, nodes, leases = resource_of("Pod"), resource_of("Node"), resource_of("Lease")
    assert pods.path() == "/api/v1/pods"
    assert pods.path("team-a") == "/api/v1/namespaces/team-a/pods"
    assert pods.path("team-a", "web", "binding") == "/api/v1/namespaces/team-a/pods/web/binding"
    assert nodes.path(name="n1") == "/api/v1/nodes/n1"
    assert leases.path("kube-system", "x") == "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x"
    assert leases.api_version == "coordination.k8s.io/v1"


def test_a_custom_resource_is_one_more_resource() -> None:
    sticky = ApiResource("StickyJob", "example.org", "v1alpha1", "stickyjobs")
    assert sticky.path("default", "j") == "/apis/example.org/v1alpha1/namespaces/default/stickyjobs/j"


def test_a_class_of_ones_own_says_where_it_is_served() -> None:
    class StickyJob(KubeObject, frozen=True):
        API_VERSION: ClassVar[str] = "example.org/v1alpha1"
        KIND: ClassVar[str] = "StickyJob"
        PLURAL: ClassVar[str] = "stickyjobs"

    assert resource_of(StickyJob) == ApiResource("StickyJob", "example.org", "v1alpha1", "stickyjobs")
    assert resource_of(Pod) == resource_of("Pod")


def test_an_object_that_lives_in_a_namespace_needs_one() -> None:
    with pytest.raises(ValueError, match="lives in a namespace"):
        resource_of("Pod").path(name="web")


@pytest.mark.parametrize("name", ["../../kube-system/secrets/x", "..", ".", "a/b", "a%2fb", "a?dryRun=All", "a\nX: y"])
def test_a_name_that_would_lead_elsewhere_is_refused(name: str) -> None:
    pods = resource_of("Pod")
    for namespace, pod in ((name, "web"), ("default", name)):
        with pytest.raises(InputError, match="is no name of a Pod"):
            pods.path(namespace, pod)
    assert pods.path("default", "a.b..c:d_e").endswith("/a.b..c:d_e")


def test_an_unknown_kind_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"'Pood'.*Pod, Node"):
        resource_of("Pood")


def test_plurals_are_unique_within_a_group() -> None:
    served = [(resource.group, resource.plural) for resource in RESOURCES.values()]
    assert len(served) == len(set(served))

"""Templates: when two are the same, and their hashes."""

from moorage.controllers.deployments import revisions, templates
from moorage.controllers.deployments.controller import new_replica_set
from moorage.controllers.objects.workloads import Deployment, ReplicaSet, Template
from moorage.objects import convert


def template(image: str = "a", **labels: str) -> Template:
    return {"metadata": {"labels": {"app": "x", **labels}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def deployment(**fields: object) -> Deployment:
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "x"}}, "template": template(), "minReadySeconds": 4}
    metadata = {"name": "web", "namespace": "ns", "uid": "1", **fields}
    return convert({"metadata": metadata, "spec": spec}, Deployment)


def test_the_hash_label_makes_no_difference() -> None:
    assert templates.are_same(template(), templates.with_hash(template(), "abc"))


def test_fields_that_say_nothing_make_no_difference() -> None:
    said = template()
    said["metadata"]["creationTimestamp"] = None
    said["spec"]["securityContext"] = {}
    said["spec"]["volumes"] = []
    assert templates.are_same(said, template())
    assert templates.template_hash(said, None) == templates.template_hash(template(), 0)


def test_another_image_is_another_template() -> None:
    assert not templates.are_same(template("a"), template("b"))
    assert templates.template_hash(template("a"), None) != templates.template_hash(template("b"), None)


def test_zeros_and_refusals_are_said() -> None:
    said = template()
    said["spec"]["terminationGracePeriodSeconds"] = 0
    said["spec"]["enableServiceLinks"] = False
    assert not templates.are_same(said, template())


def test_a_collision_makes_another_hash() -> None:
    assert templates.template_hash(template(), 1) != templates.template_hash(template(), None)


def test_the_oldest_of_equal_sets_is_the_new_one() -> None:
    sets = [
        convert(
            {"metadata": {"name": name, "creationTimestamp": created}, "spec": {"template": template()}}, ReplicaSet
        )
        for name, created in (("b", "2002"), ("a", "2001"), ("c", "2003"))
    ]
    found = templates.find_new(deployment(), sets)
    assert found is not None
    assert found.metadata.name == "a"


def test_a_new_set_is_made_of_the_deployment() -> None:
    body = new_replica_set(deployment(annotations={"note": "kept", revisions.REVISION: "7"}), 2, 3)
    name = body["metadata"]["name"].removeprefix("web-")
    assert body["spec"]["selector"] == {"matchLabels": {"app": "x", "pod-template-hash": name}}
    assert body["spec"]["template"]["metadata"]["labels"] == {"app": "x", "pod-template-hash": name}
    assert (body["spec"]["replicas"], body["spec"]["minReadySeconds"]) == (3, 4)
    assert body["metadata"]["annotations"] == {
        "note": "kept",
        revisions.REVISION: "2",
        revisions.DESIRED_REPLICAS: "3",
        revisions.MAX_REPLICAS: "4",
    }
    assert body["metadata"]["ownerReferences"][0]["uid"] == "1"


def test_going_back_to_an_old_set_makes_it_the_newest_revision() -> None:
    old = convert({"metadata": {"name": "old", "annotations": {revisions.REVISION: "1"}}}, ReplicaSet)
    annotations = revisions.new_annotations(deployment(), old, 3)
    assert annotations == {revisions.REVISION: "3", revisions.REVISION_HISTORY: "1"}


def test_a_resized_deployment_is_noticed_by_its_sets() -> None:
    def of_size(desired: str, replicas: int) -> ReplicaSet:
        annotations = {revisions.DESIRED_REPLICAS: desired}
        return convert(
            {"metadata": {"name": "x", "annotations": annotations}, "spec": {"replicas": replicas}}, ReplicaSet
        )

    assert revisions.was_resized(deployment(), [of_size("2", 2)])
    assert not revisions.was_resized(deployment(), [of_size("3", 2)])
    assert not revisions.was_resized(deployment(), [of_size("2", 0)])

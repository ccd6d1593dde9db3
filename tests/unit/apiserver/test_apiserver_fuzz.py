"""Requests that nobody would send: every one is answered, none with a 500, and what was stored stays readable."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moorage.apiserver.auth import User
from moorage.apiserver.bootstrap import bootstrap
from moorage.apiserver.fields.schema import Type, struct
from moorage.apiserver.kinds import BUILT_IN, Kind
from moorage.apiserver.requests import Request, Response
from moorage.apiserver.server import ApiServer, Options
from moorage.apiserver.status import Refusal
from moorage.apiserver.verbs.watch import Watch

Json = dict[str, Any]

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
USER = User("fuzzer")
NAMES = st.sampled_from(["a", "b", "a.b", "default", "kube-system"])
WORDS = st.sampled_from(["", "a", "1", "-1", "100m", "5%", "Always", "2026-01-01T00:00:00Z", "10.0.0.1"])
TEXTS = st.one_of(WORDS, st.text(max_size=8))
NUMBERS = st.one_of(st.integers(-(2**65), 2**65), st.floats(allow_nan=False, allow_infinity=False))
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
CONTENT_TYPES = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "text/plain",
        "",
    ]
)
ACCEPTS = st.sampled_from(
    [
        "application/json",
        "application/yaml",
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        "application/json;as=;v",
        "*/*",
        "text/html",
    ]
)
QUERIES = st.dictionaries(
    st.sampled_from(
        [
            "limit",
            "continue",
            "resourceVersion",
            "resourceVersionMatch",
            "labelSelector",
            "fieldSelector",
            "dryRun",
            "fieldManager",
            "fieldValidation",
            "force",
            "gracePeriodSeconds",
            "propagationPolicy",
            "orphanDependents",
            "includeObject",
        ]
    ),
    st.one_of(st.sampled_from(["0", "1", "true", "All", "Exact", "a=b", "metadata.name=a", "Strict", "x"]), TEXTS),
    max_size=3,
)


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "bytes": st.just("YQ=="),
    "Quantity": st.sampled_from(["0", "1", "-1", "100m", "1Gi", "1.5", "1e3"]),
    "Time": st.just("2026-01-01T00:00:00Z"),
    "MicroTime": st.just("2026-01-01T00:00:00.000000Z"),
    "Duration": st.just("1m"),
    "IntOrString": st.one_of(st.integers(-5, 70000), st.sampled_from(["", "5%", "x"])),
    "Any": ANYTHING,
}


def _values(kind: Type, depth: int, *, faulty: bool) -> st.SearchStrategy[Any]:
    """Values of a type; with faults, one in eight is anything at all."""
    if kind.struct:
        right: st.SearchStrategy[Any] = _structs(kind.struct, depth, faulty=faulty)
    elif kind.is_list and kind.element is not None:
        right = st.lists(_values(kind.element, depth - 1, faulty=faulty), max_size=2)
    elif kind.is_map and kind.element is not None:
        right = st.dictionaries(TEXTS, _values(kind.element, depth - 1, faulty=faulty), max_size=2)
    else:
        right = SCALARS.get(kind.name, TEXTS)
    return st.one_of(*[right] * 7, ANYTHING) if faulty else right


def _structs(name: str, depth: int, *, faulty: bool) -> st.SearchStrategy[Json]:
    fields = list(struct(name).fields.values())
    if not fields or depth <= 0:
        return st.just({})

    @st.composite
    def draw_struct(draw: st.DrawFn) -> Json:
        chosen = draw(st.lists(st.sampled_from(fields), max_size=4))
        return {field.name: draw(_values(field.type, depth - 1, faulty=faulty)) for field in chosen}

    return draw_struct()


@st.composite
def objects(draw: st.DrawFn, kind: Kind) -> Json:
    """Objects of a kind: shaped by the field table, with faults here and there."""
    obj = draw(_structs(kind.struct, 6, faulty=True))
    for field in struct(kind.struct).fields.values():
        if field.name in ("spec", "template"):
            obj[field.name] = draw(_values(field.type, 5, faulty=True))
    obj.pop("kind", None)
    obj.pop("apiVersion", None)
    if isinstance(obj.get("metadata"), dict):
        metadata: Json = obj["metadata"]
    else:
        metadata = {}
    for name in ("namespace", "generateName", "resourceVersion", "uid", "creationTimestamp"):
        metadata.pop(name, None)
    metadata["name"] = draw(NAMES)
    return {**obj, "metadata": metadata}


def path_of(kind: Kind, name: str = "", subresource: str = "") -> str:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    parts = [root, *(["namespaces", "default"] if kind.is_namespaced else []), kind.plural]
    return "/".join(part for part in [*parts, name, subresource] if part)


class Target:
    """A server that lives through all examples, so that later requests meet what earlier ones left."""

    def __init__(self) -> None:
        self.server = ApiServer(Options())
        bootstrap(self.server.registry)

    def send(self, method: str, path: str, body: bytes, content_type: str, accept: str, query: Json) -> int:
        request = Request(method, path, query, USER, body, content_type, accept)
        try:
            found = self.server.api.answer(request)
        except Refusal as error:
            json.dumps(error.body())
            # Kubernetes itself has no other answer to a pod under several budgets.
            return 429 if "more than one PodDisruptionBudget" in error.message else error.code
        assert not isinstance(found, Watch)
        assert isinstance(found, Response)
        return found.code

    def check(self) -> None:
        """Everything stored can be read back, whole and as a table."""
        for resource in self.server.registry.resources():
            if "list" in resource.kind.verbs:
                kind = resource.kind
                root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
                for accept in ("application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"):
                    assert self.send("GET", f"{root}/{kind.plural}", b"", "", accept, {}) == 200


@pytest.fixture(scope="module")
def target() -> Target:
    return Target()


KINDS = st.sampled_from(BUILT_IN)


@SETTINGS
@given(data=st.data())
def test_objects_of_every_kind(target: Target, data: st.DataObject) -> None:
    kind = data.draw(KINDS)
    body = json.dumps(data.draw(objects(kind))).encode()
    name = data.draw(NAMES)
    for method, path in (
        ("POST", path_of(kind)),
        ("PUT", path_of(kind, name)),
        *((("PUT", path_of(kind, name, sub))) for sub in kind.subresources),
        *((("POST", path_of(kind, name, sub))) for sub in kind.subresources),
    ):
        code = target.send(method, path, body, "application/json", "application/json", data.draw(QUERIES))
        assert code != 500


@SETTINGS
@given(data=st.data())
def test_patches_of_every_kind(target: Target, data: st.DataObject) -> None:
    kind = data.draw(KINDS)
    name = data.draw(NAMES)
    target.send("POST", path_of(kind), json.dumps({"metadata": {"name": name}}).encode(), "", "", {})
    patch = data.draw(st.one_of(objects(kind), ANYTHING))
    operation = st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"])},
        optional={
            "path": st.sampled_from(["/metadata/labels", "/spec", "/a/0", "/metadata", "", "/spec/-", "x"]),
            "from": st.sampled_from(["/metadata", "/spec/x", ""]),
            "value": ANYTHING,
        },
    )
    content_type = data.draw(CONTENT_TYPES)
    if "json-patch" in content_type:
        patch = data.draw(st.lists(operation, max_size=3))
    sub = data.draw(st.sampled_from(["", *kind.subresources]))
    query = {**data.draw(QUERIES), "fieldManager": "fuzzer"}
    body = json.dumps(patch).encode()
    assert target.send("PATCH", path_of(kind, name, sub), body, content_type, data.draw(ACCEPTS), query) != 500


@SETTINGS
@given(data=st.data())
def test_bytes_and_options_of_every_sort(target: Target, data: st.DataObject) -> None:
    kind = data.draw(KINDS)
    method = data.draw(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]))
    sub = data.draw(st.sampled_from(["", "status", "scale", "binding", "eviction", "nosuch"]))
    path = path_of(kind, data.draw(st.sampled_from(["", "a", "b"])), sub)
    body = data.draw(st.one_of(st.binary(max_size=60), st.just(b"k8s\x00\x0a\x00\x12\x02\x0a\x00"), st.just(b"")))
    code = target.send(method, path, body, data.draw(CONTENT_TYPES), data.draw(ACCEPTS), data.draw(QUERIES))
    assert code != 500


CONTAINER: Json = {"name": "main", "image": "example/app:1"}
TEMPLATE: Json = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
WORKLOAD: Json = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
CLAIM: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
#: Specs that are right: what is drawn goes around them.
RIGHT: dict[str, Json] = {
    "pods": {"containers": [CONTAINER]},
    "deployments.apps": WORKLOAD,
    "replicasets.apps": WORKLOAD,
    "statefulsets.apps": WORKLOAD,
    "daemonsets.apps": WORKLOAD,
    "jobs.batch": {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}},
    "services": {"ports": [{"port": 80}]},
    "persistentvolumeclaims": CLAIM,
    "persistentvolumes": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/"}},
    "nodes": {},
    "poddisruptionbudgets.policy": {"selector": {}},
    "resourceclaims.resource.k8s.io": {"devices": {}},
    "horizontalpodautoscalers.autoscaling": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "a"}},
}


@SETTINGS
@given(data=st.data())
def test_objects_that_are_nearly_right(target: Target, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([kind for kind in BUILT_IN if kind.resource in RIGHT]))
    right = RIGHT[kind.resource]
    spec_type = struct(kind.struct).fields["spec"].type
    around = data.draw(_structs(spec_type.struct, data.draw(st.integers(1, 6)), faulty=False))
    status = data.draw(_structs(struct(kind.struct).fields["status"].type.struct, 4, faulty=False))
    name = data.draw(NAMES)
    body = {"metadata": {"name": name, "labels": {"a": "b"}}, "spec": {**around, **right}, "status": status}
    for method, path, sent in (
        ("POST", path_of(kind), body),
        ("POST", path_of(kind), {**body, "spec": right}),
        ("PUT", path_of(kind, name), body),
        ("PUT", path_of(kind, name, "status"), body),
        ("POST", f"{path_of(kind, name)}/eviction", {"deleteOptions": {"gracePeriodSeconds": 5}}),
        ("POST", f"{path_of(kind, name)}/binding", {"target": {"name": "n"}}),
        ("PUT", f"{path_of(kind, name)}/scale", {"metadata": {"name": name}, "spec": {"replicas": 3}}),
    ):
        data_sent = json.dumps(sent).encode()
        assert target.send(method, path, data_sent, "application/json", "application/json", {}) != 500
    patch = json.dumps({"spec": around}).encode()
    for content_type in ("application/strategic-merge-patch+json", "application/apply-patch+yaml"):
        query = {"fieldManager": data.draw(st.sampled_from(["a", "b"])), "force": data.draw(WORDS)}
        assert target.send("PATCH", path_of(kind, name), patch, content_type, "application/json", query) != 500
    assert target.send("DELETE", path_of(kind, name), b"", "", "", {"gracePeriodSeconds": data.draw(WORDS)}) != 500


@SETTINGS
@given(path=st.text(alphabet="/apisv1.nodefultkbc{}%?", max_size=40), accept=ACCEPTS)
def test_paths_that_lead_nowhere(target: Target, path: str, accept: str) -> None:
    assert target.send("GET", "/" + path, b"", "", accept, {}) != 500


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> Json:
    """Structural schemas."""
    kinds = ["string", "integer", "number", "boolean", *(["object", "array"] if depth else [])]
    kind = draw(st.sampled_from(kinds))
    schema: Json = {"type": kind}
    if kind == "object":
        schema["properties"] = draw(st.dictionaries(WORDS, schemas(depth - 1), max_size=3))
        schema["required"] = draw(st.lists(WORDS, max_size=2))
    elif kind == "array":
        schema["items"] = draw(schemas(depth - 1))
        schema["x-kubernetes-list-type"] = draw(st.sampled_from(["atomic", "set"]))
    extra = {
        "default": ANYTHING,
        "nullable": st.booleans(),
        "enum": st.lists(ANYTHING, max_size=2),
        "minimum": NUMBERS,
        "multipleOf": NUMBERS,
        "maxLength": st.integers(-1, 5),
        "pattern": TEXTS,
        "format": st.sampled_from(["date-time", "ipv4", "uuid", "byte", "x"]),
        "x-kubernetes-preserve-unknown-fields": st.booleans(),
        "not": st.just({"required": ["a"]}),
    }
    for name in draw(st.lists(st.sampled_from(sorted(extra)), max_size=2)):
        schema[name] = draw(extra[name])
    return schema


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@SETTINGS
@given(schema=st.one_of(schemas(), schemas(), ANYTHING), value=ANYTHING, second=ANYTHING)
def test_custom_kinds_of_every_sort(target: Target, schema: Any, value: Any, second: Any) -> None:
    whole = {"type": "object", "properties": {"spec": schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    spec = {
        "group": "x.example.com",
        "scope": "Cluster",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [version],
    }
    name = "things.x.example.com"
    body = json.dumps({"metadata": {"name": name}, "spec": spec}).encode()
    code = target.send("POST", DEFINITIONS, body, "", "", {})
    assert code != 500
    if code != 201:
        return
    things = "/apis/x.example.com/v1/things"
    for method, path, content_type, found in (
        ("POST", things, "application/json", value),
        ("PATCH", f"{things}/t", "application/merge-patch+json", second),
        ("PATCH", f"{things}/t", "application/apply-patch+yaml", second),
    ):
        sent = json.dumps({"metadata": {"name": "t"}, "spec": found}).encode()
        assert target.send(method, path, sent, content_type, "application/json", {"fieldManager": "f"}) != 500
    assert target.send("GET", "/openapi/v3/apis/x.example.com/v1", b"", "", "", {}) == 200
    collection = target.server.store.collection("customresourcedefinitions.apiextensions.k8s.io")
    collection.remove("", name, {"metadata": {"name": name}})


def test_what_is_stored_stays_readable(target: Target) -> None:
    target.check()

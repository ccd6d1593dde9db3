import json
from typing import Any

import msgspec
import pytest

from moorage.extender import wire

POD = msgspec.Raw(b'{"metadata":{"name":"p"}}')


def node(name: str) -> msgspec.Raw:
    return msgspec.Raw(json.dumps({"metadata": {"name": name}, "status": {"strange": [1]}}).encode())


class TestWhatIsSent:
    """Member names and nulls as Go's encoder writes structs without tags."""

    def test_names_of_nodes(self) -> None:
        sent = wire.encode(wire.Args(POD, node_names=["a", "b"]))
        assert sent == b'{"Pod":{"metadata":{"name":"p"}},"Nodes":null,"NodeNames":["a","b"]}'

    def test_whole_nodes(self) -> None:
        sent = json.loads(wire.encode(wire.Args(POD, wire.NodeList(items=[node("a")]))))
        item = {"metadata": {"name": "a"}, "status": {"strange": [1]}}
        assert sent == {
            "Pod": {"metadata": {"name": "p"}},
            "Nodes": {"metadata": {}, "items": [item]},
            "NodeNames": None,
        }

    def test_victims_by_identifier(self) -> None:
        victims = {"a": wire.MetaVictims([wire.MetaPod("u1")], 2)}
        assert json.loads(wire.encode(wire.PreemptionArgs(POD, meta_victims=victims))) == {
            "Pod": {"metadata": {"name": "p"}},
            "NodeNameToVictims": None,
            "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u1"}], "NumPDBViolations": 2}},
        }

    def test_whole_victims(self) -> None:
        victims = {"a": wire.Victims([POD], 0)}
        assert json.loads(wire.encode(wire.PreemptionArgs(POD, victims)))["NodeNameToVictims"] == {
            "a": {"Pods": [{"metadata": {"name": "p"}}], "NumPDBViolations": 0}
        }

    def test_a_binding(self) -> None:
        sent = wire.encode(wire.BindingArgs("p", "default", "u", "a"))
        assert sent == b'{"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"a"}'

    def test_answers(self) -> None:
        assert json.loads(wire.encode(wire.FilterResult(node_names=["a"], failed_nodes={"b": "full"}))) == {
            "Nodes": None,
            "NodeNames": ["a"],
            "FailedNodes": {"b": "full"},
            "FailedAndUnresolvableNodes": None,
            "Error": "",
        }
        assert wire.encode([wire.HostPriority("a", 3)]) == b'[{"Host":"a","Score":3}]'
        assert wire.encode(wire.BindingResult()) == b'{"Error":""}'


class TestWhatIsRead:
    """Everything is read in any case, as Go reads it; null is the same as missing."""

    @pytest.mark.parametrize("names", [("Pod", "NodeNames"), ("pod", "nodenames"), ("POD", "nodeNames")])
    def test_args_of_any_version(self, names: tuple[str, str]) -> None:
        args = wire.read_args(json.dumps({names[0]: {"a": 1}, names[1]: ["n"], "Nodes": None, "new": 1}).encode())
        assert (bytes(args.pod), args.nodes, args.node_names) == (b'{"a": 1}', None, ["n"])

    def test_args_with_whole_nodes_keep_them_as_they_came(self) -> None:
        args = wire.read_args(b'{"pod":{},"nodes":{"metadata":{},"items":[{"metadata":{"name":"a"},"x":1.50}]}}')
        assert args.nodes is not None
        assert args.nodes.items is not None
        assert [bytes(item) for item in args.nodes.items] == [b'{"metadata":{"name":"a"},"x":1.50}']
        assert wire.names_of(args.nodes.items) == ["a"]

    def test_a_list_without_items(self) -> None:
        nodes = wire.read_args(b'{"Pod":{},"Nodes":{"items":null}}').nodes
        assert nodes is not None
        assert nodes.items == []

    def test_args_without_a_pod_are_refused(self) -> None:
        with pytest.raises(wire.WireError, match="Pod is missing"):
            wire.read_args(b'{"NodeNames":[]}')

    @pytest.mark.parametrize("name", ["NodeNameToVictims", "nodeNameToVictims", "nodeToVictims"])
    def test_victims_of_any_version(self, name: str) -> None:
        body = {"Pod": {}, name: {"n": {"pods": [{"x": 1}], "numPDBViolations": 3}}}
        args = wire.read_preemption_args(json.dumps(body).encode())
        assert args.victims is not None
        victims = args.victims["n"]
        assert [bytes(pod) for pod in victims.pods or ()] == [b'{"x": 1}']
        assert victims.pdb_violations == 3
        assert args.meta_victims is None

    def test_identifiers_of_any_version(self) -> None:
        body = b'{"pod":{},"nodeNameToMetaVictims":{"n":{"pods":[{"uid":"u"}]},"m":{"Pods":null}}}'
        args = wire.read_preemption_args(body)
        assert args.meta_victims == {"n": wire.MetaVictims([wire.MetaPod("u")]), "m": wire.MetaVictims([])}

    def test_bindings_of_any_version(self) -> None:
        body = b'{"podName":"p","PodNamespace":"ns","podUID":"u","NODE":"n"}'
        assert wire.read_binding_args(body) == wire.BindingArgs("p", "ns", "u", "n")
        assert wire.read_binding_args(b"{}") == wire.BindingArgs()

    def test_filter_results(self) -> None:
        result = wire.read_filter_result(b'{"nodenames":["a",null],"failedNodes":{"b":"full","c":null},"Error":null}')
        assert result == wire.FilterResult(node_names=["a", ""], failed_nodes={"b": "full", "c": ""})
        assert wire.read_filter_result(b"null") == wire.FilterResult()

    @pytest.mark.parametrize("keys", [("Host", "Score"), ("host", "score"), ("HOST", "sCORE")])
    def test_scores(self, keys: tuple[str, str]) -> None:
        body = json.dumps([{keys[0]: "a", keys[1]: 7}, {keys[0]: "b"}]).encode()
        assert wire.read_priorities(body) == [wire.HostPriority("a", 7), wire.HostPriority("b", 0)]

    def test_scores_whose_names_differ_in_case_from_each_other(self) -> None:
        assert wire.read_priorities(b'[{"Host":"a","score":7}]') == [wire.HostPriority("a", 7)]

    def test_no_scores(self) -> None:
        assert wire.read_priorities(b"null") == []
        assert wire.read_priorities(b"[null]") == [wire.HostPriority("", 0)]

    def test_names_in_any_case(self) -> None:
        assert wire.names_of([msgspec.Raw(b'{"Metadata":{"Name":"a"}}'), msgspec.Raw(b"{}")]) == ["a", ""]

    def test_only_the_first_value_counts(self) -> None:
        assert wire.read_binding_result(b' {"Error":"no"} <!-- served by -->').error == "no"

    def test_bytes_that_are_no_text_are_replaced(self) -> None:
        assert wire.read_binding_result(b'{"Error":"\xff!"}').error == "\ufffd!"


JUNK: list[Any] = [
    b"",
    b"<html>",
    b"[]",
    b'"text"',
    b'{"NodeNames":5}',
    b'{"NodeNames":[1]}',
    b'{"NodeNames":',
    b'{"FailedNodes":[]}',
    b'{"FailedNodes":{"a":1}}',
    b'{"Nodes":[]}',
    b'{"Nodes":{"items":{}}}',
    b'{"Error":1}',
    b"\x00\xff",
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", JUNK, ids=lambda body: repr(body[:30]))
def test_junk_is_a_wire_error(body: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.read_filter_result(body)


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[1]",
        b'[{"Host":1}]',
        b'[{"Host":"a","Score":"7"}]',
        b'[{"Host":"a","Score":7.5}]',
        b"[[]]",
        b'[{"Host":"a","Score":9223372036854775808}]',
        b'[{"Host":"a","score":-1e30}]',
    ],
)
def test_junk_scores(body: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.read_priorities(body)


@pytest.mark.parametrize("body", [b'{"NodeNameToMetaVictims":[]}', b'{"NodeNameToMetaVictims":{"n":{"Pods":[1]}}}'])
def test_junk_victims(body: bytes) -> None:
    with pytest.raises(wire.WireError):
        wire.read_preemption_result(body)


def test_nodes_that_are_no_objects() -> None:
    with pytest.raises(wire.WireError):
        wire.names_of([msgspec.Raw(b"5")])

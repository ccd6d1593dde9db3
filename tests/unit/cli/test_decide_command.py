"""moorage decide: cases in, decisions out, and what it says to bad input."""

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from moorage.cli.main import app

RECORDED = Path(__file__).parents[2] / "conformance" / "decisions.jsonl.xz"
CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

PLUGIN = """
from moorage.framework import unresolvable

class OnlyA:
    def __init__(self, args, handle):
        self.args = args

    def filter(self, state, pod, node):
        return None if node.name == "a" else unresolvable("not a")

class Broken:
    def __init__(self, args, handle): ...

    def score(self, state, pod, node):
        return 1 // 0
"""


def run(*arguments: str | Path, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["decide", *map(str, arguments)], input=stdin)


def node(name: str, **allocatable: str) -> dict[str, Any]:
    offered = {"cpu": "4", "memory": "8Gi", "pods": "10", **allocatable}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"allocatable": offered}}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}}


def case(*objects: dict[str, Any], name: str = "one", schedule: Any = ("default/p",), **fields: Any) -> dict[str, Any]:
    return {"case": {"name": name, "config": None, "objects": list(objects), "schedule": list(schedule), **fields}}


GOOD = case(node("a"), node("b"), pod("p"), name="good")


def write(path: Path, *cases: Any) -> Path:
    lines = [one if isinstance(one, str) else json.dumps(one) for one in cases]
    path.write_text("\n".join(lines) + "\n")
    return path


def decided(text: str) -> dict[str, list[dict[str, Any]]]:
    records = [json.loads(line) for line in text.splitlines()]
    return {record["name"]: record["decisions"] for record in records}


@pytest.fixture
def recorded() -> list[dict[str, Any]]:
    """A case of each family."""
    with lzma.open(RECORDED) as lines:
        return [json.loads(line) for number, line in enumerate(lines) if number % 60 == 0 and number < 720]


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_recorded_cases_into_a_file(tmp_path: Path, recorded: list[dict[str, Any]], version: str) -> None:
    cases = tmp_path / "cases.jsonl.gz"
    cases.write_bytes(gzip.compress("\n".join(map(json.dumps, recorded)).encode()))
    result = run(cases, "-o", tmp_path / "out.jsonl", "--emulated-version", version)
    assert (result.exit_code, result.output) == (0, "")
    found = decided((tmp_path / "out.jsonl").read_text())
    assert len(found) == len(recorded) == 12
    for record in recorded:
        ours, theirs = found[record["case"]["name"]], record["expect"][version]
        for field in ("pod", "feasible", "totals", "best", "chosen", "message"):
            assert [one.get(field) for one in ours] == [one.get(field) for one in theirs]


def test_gates_of_the_command_line_and_of_the_case(tmp_path: Path) -> None:
    cases = write(tmp_path / "in.jsonl", case(node("a"), node("b"), pod("p"), gates={"StorageCapacityScoring": True}))
    scores = decided(run(cases, "--emulated-version", "1.36").stdout)["one"][0]["scores"]
    assert all("VolumeBinding" in of_node for of_node in scores.values())
    result = run(cases, "--feature-gates", "CompositePodGroup=true")
    assert result.exit_code == 2
    assert result.stderr.startswith("--feature-gates: feature gate CompositePodGroup is on, but needs GenericWorkload")
    result = run(cases, "--emulated-version", "1.12")
    assert result.stderr == '--emulated-version: version "1.12" is not known; there are 1.36, 1.37\n'


def test_standard_input_and_output() -> None:
    result = run("-", stdin=json.dumps(GOOD).encode())
    assert result.exit_code == 0
    assert decided(result.stdout)["good"][0]["best"] == ["a", "b"]


def test_compressed_output(tmp_path: Path) -> None:
    assert run(write(tmp_path / "in.jsonl", GOOD), "-o", tmp_path / "out.gz").exit_code == 0
    assert decided(gzip.decompress((tmp_path / "out.gz").read_bytes()).decode())["good"]


def test_the_same_seed_the_same_output(tmp_path: Path) -> None:
    full = [node(name, pods="1") for name in "abcdef"]
    placed = [pod(f"on-{name}", nodeName=name) for name in "abcdef"]
    cases = write(tmp_path / "in.jsonl", case(*full, *placed, pod("p", priority=5)))
    outputs = [run(cases, "--seed", seed).stdout for seed in ("1", "1", "2", "3", "4")]
    assert outputs[0] == outputs[1]
    assert len({decided(text)["one"][0]["preemption"][0]["node"] for text in outputs}) > 1


def test_pods_are_placed_one_after_the_other(tmp_path: Path) -> None:
    pods = [pod(name) for name in ("p1", "p2", "p3")]
    keys = [f"default/{one['metadata']['name']}" for one in pods]
    result = run(write(tmp_path / "in.jsonl", case(node("a", pods="1"), node("b", pods="1"), *pods, schedule=keys)))
    decisions = decided(result.stdout)["one"]
    assert sorted(one.get("chosen", "") for one in decisions) == ["", "a", "b"]
    assert decisions[2]["message"] == "0/2 nodes are available: 2 Too many pods."


def test_objects_without_uid_are_told_apart(tmp_path: Path) -> None:
    pods = [pod(name) for name in ("p1", "p2", "p3")]
    for one in pods:
        del one["metadata"]["uid"]
    keys = [f"default/{one['metadata']['name']}" for one in pods]
    result = run(write(tmp_path / "in.jsonl", case(node("a", pods="2"), *pods, schedule=keys)))
    assert [one.get("chosen") for one in decided(result.stdout)["one"]] == ["a", "a", None]


BAD: dict[str, tuple[Any, str]] = {
    "not JSON": ("{", "not JSON: "),
    "no object": ("[]", "expected an object, got list"),
    "too deep": ("[" * 100_000, "nested too deeply"),
    "no name": ({"case": {"objects": [], "schedule": []}}, "case.name: expected a string, got NoneType"),
    "no objects": ({"case": {"name": "x", "schedule": []}}, "case.objects: expected a list, got NoneType"),
    "no schedule": ({"case": {"name": "x", "objects": []}}, "case.schedule: expected a list, got NoneType"),
    "unknown kind": (case({"kind": "Gadget"}), "case.objects[0].kind: unknown kind 'Gadget'; expected one of "),
    "wrong type": (case(node("a"), pod("p", nodeName=5)), "case.objects[1].spec.nodeName: Expected `str`, got `int`"),
    "quantity": (
        case(node("a", memory="1 Gi"), pod("p")),
        'case.objects[0].status.allocatable.memory: "1 Gi" is not a quantity (expected a number like 2, 500m, ',
    ),
    "quantity of a container": (
        case(node("a"), pod("p", containers=[{"name": "c", "resources": {"requests": {"cpu": "one"}}}])),
        'case.objects[1].spec.containers[0].resources.requests.cpu: "one" is not a quantity',
    ),
    "quantity of a volume": (
        case(
            pod("p"),
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": "v"},
                "spec": {"capacity": {"storage": "1 Gi"}},
            },
        ),
        'case.objects[1].spec.capacity.storage: "1 Gi" is not a quantity',
    ),
    "quantity of a capacity": (
        case(
            pod("p"),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {"name": "c"},
                "capacity": "1 Gi",
            },
        ),
        'case.objects[1].capacity: "1 Gi" is not a quantity',
    ),
    "time": (
        case(node("a"), {**pod("p"), "status": {"startTime": "yesterday"}}),
        'case.objects[1].status.startTime: "yesterday" is not a time (expected one like 2026-01-31T12:00:00Z)',
    ),
    "unknown pod": (case(pod("p"), schedule=["default/q"]), 'case.schedule[0]: no pod "default/q" among the objects'),
    "pod scheduled twice": (
        case(node("a"), pod("p"), schedule=["default/p", "default/p"]),
        'case.schedule[1]: "default/p" is scheduled twice',
    ),
    "object twice": (case(node("a"), pod("p"), pod("p")), "case.objects[2]: Pod default/p is there twice"),
    "unknown scheduler": (
        case(node("a"), pod("p", schedulerName="mine")),
        'pod default/p names scheduler "mine"; profiles: default-scheduler',
    ),
    "config of a wrong type": (case(pod("p"), config="yes"), "case.config: expected an object or null, got str"),
    "unknown plugin": (
        case(
            pod("p"),
            config={
                **CONFIG,
                "profiles": [{"schedulerName": "s", "plugins": {"multiPoint": {"enabled": [{"name": "Gadget"}]}}}],
            },
        ),
        "case.config: profiles[0].plugins",
    ),
    "unknown field": (case(pod("p"), config={**CONFIG, "paralelism": 5}), "case.config: paralelism: "),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_case_is_reported_and_the_rest_go_on(tmp_path: Path, name: str) -> None:
    bad, problem = BAD[name]
    cases = write(tmp_path / "in.jsonl", GOOD, bad, "", case(node("a"), pod("p"), name="last"))
    result = run(cases)
    assert result.exit_code == 2
    assert list(decided(result.stdout)) == ["good", "last"]
    assert result.stderr.startswith(f"{cases}:2: {problem}")
    assert result.stderr.count("\n") == 1


def test_every_fault_of_a_configuration_has_its_line(tmp_path: Path) -> None:
    bad = case(pod("p"), config={**CONFIG, "parallelism": 0, "percentageOfNodesToScore": 101})
    result = run(write(tmp_path / "in.jsonl", bad))
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith(f"{tmp_path / 'in.jsonl'}:1: case.config: ") for line in lines)


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    return path


def enabling(name: str) -> dict[str, Any]:
    return {
        **CONFIG,
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"multiPoint": {"enabled": [{"name": name}]}}}],
    }


def test_a_plugin_of_ones_own(tmp_path: Path, plugin: Path) -> None:
    cases = write(tmp_path / "in.jsonl", case(node("a"), node("b"), pod("p"), config=enabling("OnlyA")))
    result = run(cases, "--plugin", f"{plugin}:OnlyA")
    (decision,) = decided(result.stdout)["one"]
    assert decision["chosen"] == "a"
    assert decision["rejected"]["b"]["reasons"] == ["not a"]


def test_a_broken_plugin_is_named_in_the_decision(tmp_path: Path, plugin: Path) -> None:
    cases = write(tmp_path / "in.jsonl", case(node("a"), pod("p"), config=enabling("Broken")), GOOD)
    result = run(cases, "--plugin", f"{plugin}:Broken")
    found = decided(result.stdout)
    assert (
        found["one"][0]["error"]
        == 'running Score plugin "Broken": ZeroDivisionError: integer division or modulo by zero'
        f" (at {plugin.parent.name}/mine.py:15)"
    )
    assert found["one"][0]["feasible"] == []
    assert found["good"][0]["chosen"] == "a"


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("{}:Absent", "--plugin {0}:Absent: {0} has no class Absent"),
        ("nothing", "--plugin nothing: expected module:Class or path/to/file.py:Class"),
        ("no_such:Thing", "--plugin no_such:Thing: cannot import no_such: "),
    ],
)
def test_a_plugin_that_cannot_be_loaded(tmp_path: Path, plugin: Path, reference: str, problem: str) -> None:
    result = run(write(tmp_path / "in.jsonl", GOOD), "--plugin", reference.format(plugin), "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr.startswith(problem.format(plugin))
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(None, "No such file or directory", id="absent"),
        pytest.param(gzip.compress(b"x" * 1000)[:20], "cannot be unpacked", id="cut off"),
        pytest.param(b"\x1f\x8bxx", "cannot be unpacked", id="no gzip"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "in.jsonl"
    if content is not None:
        path.write_bytes(content)
    result = run(path, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert str(path) in result.stderr
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    result = run(write(tmp_path / "in.jsonl", GOOD), "-o", tmp_path / "no" / "out")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "No such file or directory" in result.stderr

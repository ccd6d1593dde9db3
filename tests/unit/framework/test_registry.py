"""Where plugins come from."""

import re
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any, ClassVar

import pytest

from moorage.config import parse_config
from moorage.config.types import API_VERSION, KIND
from moorage.errors import InputError
from moorage.framework import Resource, on
from moorage.framework import registry as registry_module
from moorage.framework.handle import Handle
from moorage.framework.loading import neighbours, packages_of
from moorage.framework.registrations import kinds_written
from moorage.framework.registry import Registry, load_class, plugin_name, served_points
from moorage.objects import Pod


class Plain:
    """Filters."""

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args

    def filter(self, _state: Any, _pod: Any, _node: Any) -> None:
        """Lets everybody in."""


class Renamed(Plain):
    """Has another name."""

    name = "Other"


class Everything:
    """Has every method there is."""

    def pre_enqueue(self) -> None: ...
    def sort_key(self) -> None: ...
    def pre_filter(self) -> None: ...
    def filter_nodes(self) -> None: ...
    def post_filter(self) -> None: ...
    def pre_score(self) -> None: ...
    def score_nodes(self) -> None: ...
    def reserve(self) -> None: ...
    def unreserve(self) -> None: ...
    def permit(self) -> None: ...
    async def pre_bind(self) -> None: ...
    async def bind(self) -> None: ...
    async def post_bind(self) -> None: ...


class HalfReserving:
    """Unreserve is missing."""

    def reserve(self) -> None: ...


def test_the_name_is_the_class_name_unless_it_says_otherwise() -> None:
    assert (plugin_name(Plain), plugin_name(Renamed)) == ("Plain", "Other")
    registry = Registry()
    registry.register_all([Plain, Renamed])
    registry.register(Plain, name="Third")
    assert registry.names == ["Other", "Plain", "Third"]
    assert "Plain" in registry
    assert "Renamed" not in registry


def test_methods_say_which_points_are_served() -> None:
    assert served_points(Plain) == {"filter"}
    assert served_points(HalfReserving) == set()
    assert served_points(Everything) == {
        *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score"),
        *("reserve", "permit", "preBind", "bind", "postBind"),
    }
    registry = Registry()
    registry.register(Plain)
    assert registry.points["Plain"] == {"filter"}
    assert registry.points["NodeName"] == {"filter"}


def test_a_name_is_taken_once() -> None:
    registry = Registry()
    registry.register(Plain)
    registry.register(Plain)
    with pytest.raises(InputError, match='plugin "Plain" is registered twice; give the class another `name`'):
        registry.register(Renamed, name="Plain")


def test_a_class_without_any_method_is_refused() -> None:
    with pytest.raises(
        InputError, match='plugin "object": it serves no extension point: it has none of the methods of preEnqueue'
    ):
        Registry().register(object)


def test_plugins_are_made_with_their_arguments() -> None:
    registry = Registry()
    registry.register(Plain)
    assert registry.create("Plain", {"a": 1}, None).args == {"a": 1}  # type: ignore[arg-type]
    with pytest.raises(InputError, match='plugin "Absent" is known but not implemented; disable it'):
        registry.create("Absent", None, None)  # type: ignore[arg-type]


def test_arguments_a_plugin_refuses() -> None:
    class Picky(Plain):
        def __init__(self, args: Any, handle: Handle) -> None:
            raise InputError("expected a number", where="threshold")

    registry = Registry()
    registry.register(Picky)
    with pytest.raises(InputError, match=r"^plugin Picky: threshold: expected a number$"):
        registry.create("Picky", None, None)  # type: ignore[arg-type]


@pytest.fixture
def plugin_file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    def filter(self, state, pod, node): ...\n\nnumber = 5\n")
    return path


def test_from_a_file(plugin_file: Path) -> None:
    registry = Registry()
    assert registry.register_named(f"{plugin_file}:Mine") == "Mine"
    assert registry.points["Mine"] == {"filter"}


def test_from_a_module(plugin_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(plugin_file.parent)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert load_class("mine:Mine").__name__ == "Mine"


def test_two_files_of_the_same_name_are_two_modules(tmp_path: Path) -> None:
    found = []
    for folder, answer in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "plugin.py"
        path.write_text(f"class Mine:\n    answer = {answer}\n    def filter(self, state, pod, node): ...\n")
        found.append(load_class(f"{path}:Mine"))
    assert [plugin.answer for plugin in found] == [1, 2]  # type: ignore[attr-defined]
    assert [sys.modules[plugin.__module__].Mine for plugin in found] == found


def test_two_plugins_of_one_file_share_its_module(plugin_file: Path) -> None:
    plugin_file.write_text(plugin_file.read_text() + "class Yours(Mine): ...\n")
    mine, yours = (load_class(f"{plugin_file}:{name}") for name in ("Mine", "Yours"))
    assert issubclass(yours, mine)


def test_a_file_that_failed_can_be_mended(tmp_path: Path) -> None:
    path = tmp_path / "plugin.py"
    path.write_text("raise RuntimeError('not yet')\n")
    with pytest.raises(InputError, match="not yet"):
        load_class(f"{path}:Mine")
    path.write_text("class Mine: ...\n")
    assert load_class(f"{path}:Mine").__name__ == "Mine"


@pytest.mark.parametrize(
    ("reference", "problem"),
    [
        ("", "expected module:Class or path/to/file.py:Class"),
        ("mine", "expected module:Class or path/to/file.py:Class"),
        (":Mine", "expected module:Class or path/to/file.py:Class"),
        ("mine.py:", "expected module:Class or path/to/file.py:Class"),
        ("absent.py:Mine", "cannot import absent.py: no such file: absent.py"),
        ("NEAR:Mine", "cannot import NEAR: no such file: NEAR; did you mean mine.py?"),
        ("no.such.module:Mine", "cannot import no.such.module: No module named 'no'"),
        ("FILE:Absent", "FILE has no class Absent"),
        ("FILE:number", "FILE has no class number"),
        ("BAD:Mine", "cannot import BAD: "),
    ],
)
def test_a_bad_reference(plugin_file: Path, reference: str, problem: str) -> None:
    bad = plugin_file.with_name("bad.py")
    bad.write_text("def (:\n")

    def real(text: str) -> str:
        near = plugin_file.with_name("mime.py")
        return text.replace("FILE", str(plugin_file)).replace("BAD", str(bad)).replace("NEAR", str(near))

    with pytest.raises(InputError) as refusal:
        load_class(real(reference))
    assert refusal.value.where == f"--plugin {real(reference)}"
    assert refusal.value.problem.startswith(real(problem))
    assert "\n" not in str(refusal.value)


def offering(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    entries = EntryPoints([EntryPoint("Installed", value, registry_module.ENTRY_POINT_GROUP)])

    def entry_points(*, group: str) -> EntryPoints:
        return entries.select(group=group)

    monkeypatch.setattr(registry_module, "entry_points", entry_points)


def test_entry_points_of_installed_packages(monkeypatch: pytest.MonkeyPatch, plugin_file: Path) -> None:
    monkeypatch.syspath_prepend(plugin_file.parent)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    offering(monkeypatch, "mine:Mine")
    registry = Registry()
    registry.register_entry_points()
    assert registry.names == ["Installed"]


def test_an_entry_point_that_does_not_load_is_an_error_only_where_it_is_enabled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    offering(monkeypatch, "no_such_module:Mine")
    registry = Registry()
    registry.register_entry_points()
    problem = "entry point Installed (no_such_module:Mine): cannot load it: No module named 'no_such_module'"
    assert caplog.messages == [f"left out: {problem}"]
    assert registry.names == []
    profile = {"plugins": {"multiPoint": {"enabled": [{"name": "Installed"}]}}}
    document = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    with pytest.raises(InputError, match=re.escape(f'plugin "Installed" is broken: {problem}')):
        parse_config(document, known=registry.known)


def test_an_entry_point_may_be_a_function_that_says_what_it_makes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "factories.py").write_text(
        "class Mine:\n    def filter(self, state, pod, node): ...\n\n"
        "def make(args, handle) -> Mine:\n    made = Mine()\n    made.args = args\n    return made\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "factories", raising=False)
    offering(monkeypatch, "factories:make")
    registry = Registry()
    registry.register_entry_points()
    assert registry.points["Installed"] == {"filter"}
    assert registry.create("Installed", {"a": 1}, None).args == {"a": 1}  # type: ignore[arg-type]


def test_a_class_reached_by_two_ways_is_one_plugin(plugin_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(plugin_file.parent)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    registry = Registry()
    registry.register_named("mine:Mine")
    registry.register_named(f"{plugin_file}:Mine")
    assert registry.names == ["Mine"]


def test_a_module_in_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here_only.py").write_text("class Mine:\n    def filter(self, state, pod, node): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one not in ("", str(tmp_path))])
    assert load_class("here_only:Mine").__name__ == "Mine"


def test_an_import_error_shows_the_line(tmp_path: Path) -> None:
    path = tmp_path / "torn.py"
    path.write_text("x = 1\n\nprint(nowhere)\n")
    with pytest.raises(InputError, match=rf"NameError: name 'nowhere' is not defined \(at {path}:3\)"):
        load_class(f"{path}:Mine")


class Nothing:
    """Wants neither arguments nor a handle, and says so by having no __init__."""

    def filter(self, _state: Any, _pod: Any, _node: Any) -> None:
        """Lets everybody in."""


class OnlyArgs(Nothing):
    def __init__(self, args: Any) -> None:
        self.given = (args,)


class OnlyHandle(Nothing):
    def __init__(self, *, handle: Any, patience: int = 3) -> None:
        self.given = (handle, patience)


class Turned(Nothing):
    def __init__(self, handle: Any, args: Any) -> None:
        self.given = (args, handle)


class AnyTwo(Nothing):
    def __init__(self, config: Any, framework: Any, clock: int = 7) -> None:
        self.given = (config, framework, clock)


class TurnedInPart(Nothing):
    def __init__(self, handle: Any, config: Any) -> None:
        self.given = (config, handle)


class Keywords(Nothing):
    def __init__(self, **both: Any) -> None:
        self.given = (both["args"], both["handle"])


class Starred(Nothing):
    def __init__(self, *args: Any) -> None:
        self.given = args


@pytest.mark.parametrize(
    ("plugin", "given"),
    [
        (Nothing, None),
        (OnlyArgs, ("ARGS",)),
        (OnlyHandle, ("HANDLE", 3)),
        (Turned, ("ARGS", "HANDLE")),
        (AnyTwo, ("ARGS", "HANDLE", 7)),
        (TurnedInPart, ("ARGS", "HANDLE")),
        (Keywords, ("ARGS", "HANDLE")),
        (Starred, ("ARGS", "HANDLE")),
    ],
)
def test_a_plugin_gets_what_it_asks_for(plugin: type, given: Any) -> None:
    registry = Registry()
    registry.register(plugin)
    made = registry.create(plugin.__name__, "ARGS", "HANDLE")  # type: ignore[arg-type]
    assert getattr(made, "given", None) == given


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (("filter",), "worker_thread names 'filter', expected some of pre_bind, bind, post_bind"),
        (("bind",), "worker_thread names 'bind', which it has not"),
        (("post_bind",), "worker_thread names post_bind, which is async and runs beside anyway"),
        ("pre_bind", "worker_thread is 'pre_bind': expected a tuple of pre_bind, bind, post_bind"),
    ],
)
def test_only_what_binds_may_run_in_a_worker_thread(said: Any, problem: str) -> None:
    async def post_bind(*_: Any) -> None: ...

    members = {"pre_bind": lambda *_: None, "filter": lambda *_: None, "post_bind": post_bind}
    with pytest.raises(InputError, match=problem):
        Registry().register(type("Mine", (), {**members, "worker_thread": said}))
    Registry().register(type("Mine", (), {**members, "worker_thread": ("pre_bind",)}))


async def _later(*_: Any) -> None: ...


#: What would fail at every pod, or never be called, is refused when the class is registered, with its line.
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "too few parameters": (
        {"filter": lambda _self, _pod, _node: None},
        r"filter is called with \(self, state, pod, node\): it takes \(_self, _pod, _node\)",
    ),
    "too many": (
        {"score": lambda _self, _state, _pod, _node, _extra: 1},
        r"score is called with \(self, state, pod, node\): it takes \(_self, _state, _pod, _node, _extra\)",
    ),
    "async where nobody waits": ({"filter": _later}, "filter is async, and nothing is awaited there"),
    "Go's own name": ({"filter": lambda *_: None, "PostBind": lambda *_: None}, "PostBind.* did you mean post_bind"),
    "Java's": ({"filter": lambda *_: None, "preScore": lambda *_: None}, r"preScore.* did you mean pre_score\?"),
    "half of a pair": ({"filter": lambda *_: None, "reserve": lambda *_: None}, "it has reserve and lacks unreserve"),
    "the other pair": ({"filter": lambda *_: None, "add_pod": lambda *_: None}, "it has add_pod and lacks remove_pod"),
    "no method": ({"filter": 5}, "filter is 5: expected a method"),
    "a property": ({"filter": property(lambda _: None)}, "filter is a property: expected a method"),
    "a name that is none": ({"filter": lambda *_: None, "name": 5}, "name is 5: expected text"),
    "no scope": ({"filter": lambda *_: None, "filter_scope": "node"}, r"filter_scope is 'node': expected Scope\.NODE,"),
    "made by something async": ({"filter": lambda *_: None, "__init__": _later}, "is async: what takes time belongs"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_class_that_cannot_serve_is_refused_with_its_line(mistake: str) -> None:
    members, problem = MISTAKES[mistake]
    with pytest.raises(InputError, match=problem) as refusal:
        Registry().register(type("Mine", (Nothing,), {**members, "__module__": __name__}))
    assert refusal.value.problem.startswith('plugin "Mine": ')


def test_a_class_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("\n\nclass Mine:\n    name = 7\n    def filter(self, state, pod, node): ...\n")
    with pytest.raises(InputError, match=r"name is 7: expected text \(at .*/mine\.py:3\)"):
        Registry().register_named(f"{path}:Mine")


def test_methods_with_more_than_they_need_serve() -> None:
    class Mine:
        def filter(self, *_: Any, **more: Any) -> None: ...

        @staticmethod
        def score(_state: Any, _pod: Any, _node: Any, extra: int = 3) -> int:
            return extra

        @classmethod
        def permit(cls, state: Any, pod: Any, node_name: str) -> None: ...

    assert served_points(Mine) == {"filter", "score", "permit"}
    Registry().register(Mine)


def test_a_function_is_told_from_a_class(plugin_file: Path) -> None:
    plugin_file.write_text(plugin_file.read_text() + "def make() -> Mine: ...\n")
    with pytest.raises(InputError, match="make is a function: expected the class that it makes"):
        load_class(f"{plugin_file}:make")


@pytest.mark.parametrize(
    ("registration", "problem"),
    [
        (lambda: on(Resource.NODE, "add"), "'add' is no action: expected some of Action, such as"),  # type: ignore[arg-type]
        (lambda: on(Resource.NODE, hint="soon"), "the hint is 'soon': expected a function"),  # type: ignore[arg-type]
        (lambda: on(Resource.NODE, reads=7), "the reads is 7: expected a function"),  # type: ignore[arg-type]
    ],
)
def test_a_registration_is_checked_where_it_is_written(registration: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        registration()


def test_verbs_that_are_none() -> None:
    class Writing(Nothing):
        writes: ClassVar = {Pod: ("pach",)}

    with pytest.raises(InputError, match=r"writes says \('pach',\) of Pod: .*; did you mean patch\? \(at "):
        kinds_written("Writing", Writing())
    assert kinds_written("W", type("W", (), {"writes": {Pod: ("patch/status",)}})) == {Pod: ("patch/status",)}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("from moorage.framework import Statuss", "moorage.framework has no Statuss; did you mean Status? (at PATH:1)"),
        (
            "from moorage.framework import Resource; Resource.NODES",
            "AttributeError: Resource has no NODES; did you mean NODE? (at PATH:1)",
        ),
        ("''.joyn", "AttributeError: 'str' object has no attribute 'joyn'; did you mean join? (at PATH:1)"),
    ],
)
def test_the_name_that_was_meant_is_told(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"{line}\n")
    with pytest.raises(InputError, match=re.escape(f"cannot import {path}: {problem.replace('PATH', str(path))}")):
        load_class(f"{path}:Mine")


def test_a_file_that_needs_its_neighbour_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "tides.py").write_text("")
    path = tmp_path / "mine.py"
    path.write_text("import os\nimport json.decoder\nfrom tides import high\n")
    assert neighbours(path) == ["tides"]
    with pytest.raises(
        InputError, match=r"No module named 'tides' \(at .*mine\.py:3\); a plugin in a file stands alone"
    ):
        load_class(f"{path}:Mine")


def test_the_packages_that_a_file_needs_beside_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "tides.py").write_text("")
    path = tmp_path / "mine.py"
    path.write_text(
        "import os, numpy, yaml, moorage\nimport tides\nfrom moorage.framework import on\nfrom harbor.quays import q\n"
    )
    assert packages_of(path) == ["harbor"]

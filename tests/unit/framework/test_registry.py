"""Where plugins come from."""

import re
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from moorage.config import parse_config
from moorage.config.types import API_VERSION, KIND
from moorage.errors import InputError
from moorage.framework import registry as registry_module
from moorage.framework.handle import Handle
from moorage.framework.registry import Registry, load_class, plugin_name, served_points


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
        InputError, match='plugin "object" serves no extension point: it has none of the methods of preEnqueue'
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
        return text.replace("FILE", str(plugin_file)).replace("BAD", str(bad))

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

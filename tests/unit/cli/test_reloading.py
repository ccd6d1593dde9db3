"""A scheduler that begins again when the files change that it is made from."""

import asyncio
import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.cli import reloading
from moorage.cli.reloading import Sources, keep_scheduling
from moorage.errors import InputError
from moorage.framework.loading import load_class


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloading, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "my_reloaded_plugins"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "score.py").write_text("VALUE = 1\nclass Mine:\n    value = VALUE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.startswith("my_reloaded_plugins")]:
        del sys.modules[name]


def test_code_is_that_of_files_and_of_whole_packages(package: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text("")
    sources = Sources([f"{file}:One", "my_reloaded_plugins.score:Mine", "gone.py:X", "nowhere.to:Be"], None)
    assert set(sources.code()) >= {file, package / "__init__.py", package / "score.py"}
    assert Path("gone.py") not in sources.code()


def test_moorages_own_plugins_are_no_code_that_is_written() -> None:
    assert not [path for path in Sources(["moorage.cli.demo.plugin:X"], None).code() if "moorage/cli" in str(path)]


@pytest.mark.parametrize("kind", ["package", "file"])
def test_code_that_is_forgotten_is_read_anew(package: Path, kind: str) -> None:
    place = "my_reloaded_plugins.score" if kind == "package" else package / "score.py"
    reference = f"{place}:Mine"
    sources = Sources([reference], None)
    assert load_class(reference).value == 1  # type: ignore[attr-defined]
    (package / "score.py").write_text("VALUE = 2\nclass Mine:\n    value = VALUE\n")
    assert load_class(reference).value == 1, "what was imported stays"  # type: ignore[attr-defined]
    sources.forget()
    assert load_class(reference).value == 2  # type: ignore[attr-defined]
    assert importlib.import_module("json") is sys.modules["json"]


class Runs:
    """Stands for the scheduler: each run is told, and goes on until it is ended."""

    def __init__(self, file: Path) -> None:
        self.texts: list[str] = []
        self.ended = 0
        self._file = file

    def make(self) -> Any:
        text = self._file.read_text()
        if "broken" in text:
            raise InputError("cannot import mine.py: line 1")
        return text

    async def run_until(self, made: str, ending: asyncio.Event) -> None:
        self.texts.append(made)
        if "faulty" in made:
            raise InputError("plugin Mine: cannot be created")
        await ending.wait()
        self.ended += 1


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text("first")
    return path


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - what is waited for happens in files and lists
            await asyncio.sleep(0.005)


def _write(file: Path, text: str) -> None:
    file.write_text(text)


@pytest.fixture
def runs(file: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    made = Runs(file)
    monkeypatch.setattr(reloading, "run_until", made.run_until)
    return made


async def test_a_change_begins_the_scheduler_again(file: Path, runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    stopping = asyncio.Event()
    keeping = asyncio.create_task(keep_scheduling(runs.make, Sources([f"{file}:M"], None), stopping, reload=True))
    for text in ("second", "the third"):
        await _until(lambda: len(runs.texts) > runs.ended)
        _write(file, text)
        await _until(lambda text=text: text in runs.texts)  # type: ignore[misc]
    stopping.set()
    await keeping
    assert runs.texts == ["first", "second", "the third"]
    assert runs.ended == 3
    assert capsys.readouterr().out == f"{file} changed: the scheduler begins again\n" * 2


async def test_without_reload_it_stays_as_it_began(file: Path, runs: Runs) -> None:
    stopping = asyncio.Event()
    keeping = asyncio.create_task(keep_scheduling(runs.make, Sources([f"{file}:M"], None), stopping, reload=False))
    await _until(lambda: bool(runs.texts))
    _write(file, "second")
    await asyncio.sleep(0.1)
    stopping.set()
    await keeping
    assert runs.texts == ["first"]


@pytest.mark.parametrize("reload", [True, False])
@pytest.mark.parametrize("fault", ["broken", "faulty"])
async def test_a_plugin_that_cannot_be_used_is_told_and_waited_for(
    file: Path, runs: Runs, capsys: pytest.CaptureFixture[str], reload: bool, fault: str
) -> None:
    _write(file, fault)
    stopping = asyncio.Event()
    keeping = asyncio.create_task(keep_scheduling(runs.make, Sources([f"{file}:M"], None), stopping, reload=reload))
    told = ""
    async with asyncio.timeout(10):
        while "no scheduler runs until that is mended" not in told:
            await asyncio.sleep(0.005)
            told += capsys.readouterr().err
    assert "mine.py: line 1" in told if fault == "broken" else "cannot be created" in told
    _write(file, "mended")
    await _until(lambda: "mended" in runs.texts)
    stopping.set()
    await keeping


async def test_what_no_code_could_mend_is_raised(file: Path, tmp_path: Path, runs: Runs) -> None:
    _write(file, "broken")
    for sources in (Sources([f"{file}:M"], tmp_path / "nowhere.yaml"), Sources(["nowhere.py:M"], None)):
        if sources.can_be_mended:
            pytest.skip("a package with a plugin is installed here")
        with pytest.raises(InputError, match="line 1"):
            await keep_scheduling(runs.make, sources, asyncio.Event(), reload=True)

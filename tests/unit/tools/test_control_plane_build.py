"""`python -m tools.control_plane`, with a stand-in for Go."""

import os
from pathlib import Path

import pytest
from tools.control_plane import binaries
from tools.control_plane.__main__ import main
from tools.control_plane.build import version_flags

# Writes the file that `-o` names, as `go build` does.
WORKING_GO = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo k8s.io/some/package
printf '#!/bin/sh\\n' > "$2" && chmod +x "$2"
"""

FAILING_GO = """#!/bin/sh
echo k8s.io/some/package
echo 'some/file.go:1: does not compile' >&2
exit 1
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no Go."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv(binaries.ASSETS_VARIABLE, raising=False)
    monkeypatch.delenv(binaries.VERSION_VARIABLE, raising=False)
    return tmp_path


def install(folder: Path, name: str, text: str = "#!/bin/sh\n") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


def install_go(home: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    install(home / "bin", "go", text)
    monkeypatch.setenv("PATH", os.pathsep.join((str(home / "bin"), "/usr/bin", "/bin")))


def test_builds_every_program_once(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_go(home, WORKING_GO, monkeypatch)
    assert main([]) == 0
    assert binaries.missing(binaries.cache_folder()) == []
    assert "building kube-scheduler" in capsys.readouterr().err
    install_go(home, FAILING_GO, monkeypatch)
    assert main([]) == 0, "what is there is not built again"


def test_a_failed_build_leaves_nothing_and_shows_what_go_said(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_go(home, FAILING_GO, monkeypatch)
    assert main([]) == 2
    said = capsys.readouterr().err
    assert "some/file.go:1: does not compile" in said
    assert "k8s.io/some/package" not in said
    assert list(binaries.cache_folder().parent.iterdir()) == []


def test_half_a_folder_is_replaced_by_a_whole_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(binaries.cache_folder(), "etcd")
    install_go(home, WORKING_GO, monkeypatch)
    assert main([]) == 0
    assert binaries.missing(binaries.cache_folder()) == []


def test_without_go_one_line_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Go is not installed" in capsys.readouterr().err.splitlines()[-1]


def test_check_asks_whether_a_control_plane_can_be_had(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["--check"]) == 1
    install_go(home, WORKING_GO, monkeypatch)
    assert main(["--check"]) == 0
    assert not binaries.cache_folder().exists(), "asking builds nothing"


def test_binaries_of_others_are_taken_as_they_are(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(binaries.ASSETS_VARIABLE, str(home / "assets"))
    install(home / "assets", "etcd")
    assert main(["--check"]) == 1
    assert main([]) == 2
    assert "has no kube-apiserver" in capsys.readouterr().err
    install(home / "assets", "kube-apiserver")
    assert main(["--check"]) == 0
    assert main([]) == 0
    assert main(["--path"]) == 0
    assert capsys.readouterr().out == f"{home / 'assets'}\n"


def test_each_version_has_a_module_that_pins_it() -> None:
    assert binaries.DEFAULT_VERSION in binaries.versions()
    for version in binaries.versions():
        module = binaries.MODULES / version
        assert f"k8s.io/kubernetes {version}\n" in (module / "go.mod").read_text()
        assert f"k8s.io/kubernetes {version} h1:" in (module / "go.sum").read_text()


@pytest.mark.parametrize("asked", ["v1.36.4", "1.36.4", "1.36"])
def test_the_environment_chooses_the_version(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert binaries.version() == binaries.DEFAULT_VERSION
    monkeypatch.setenv(binaries.VERSION_VARIABLE, asked)
    assert binaries.cache_folder().name == "v1.36.4"
    assert "gitVersion=v1.36.4" in version_flags()
    assert "gitMinor=36" in version_flags()


def test_a_version_that_nobody_pinned_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(binaries.VERSION_VARIABLE, "1.99")
    assert main([]) == 2
    assert "there is no such version, but v1.36.4, v1.37.1" in " ".join(capsys.readouterr().err.split())

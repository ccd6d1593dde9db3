"""`moorage new plugin`: what it is called, what it refuses, and that what it makes is whole."""

import subprocess
import sys
from pathlib import Path

import pytest
import typer.testing

from moorage.cli.main import app
from moorage.cli.new.command import _points
from moorage.cli.new.names import names
from moorage.cli.new.package import POINTS, files
from moorage.config import load_config
from moorage.config.points import IN_TREE_POINTS, KnownPlugins
from moorage.errors import InputError
from moorage.values import yaml

ROOT = Path(__file__).parents[4]


def _invoke(*arguments: str) -> typer.testing.Result:
    return typer.testing.CliRunner().invoke(app, ["new", "plugin", *arguments])


@pytest.mark.parametrize(
    ("given", "distribution", "module", "plugin"),
    [
        ("prefer-green", "prefer-green", "prefer_green", "PreferGreen"),
        ("prefer_green", "prefer-green", "prefer_green", "PreferGreen"),
        ("PreferGreen", "prefer-green", "prefer_green", "PreferGreen"),
        ("GPUShare", "gpu-share", "gpu_share", "GPUShare"),
        ("spot2", "spot2", "spot2", "Spot2"),
    ],
)
def test_every_name_follows_from_the_one_given(given: str, distribution: str, module: str, plugin: str) -> None:
    made = names(given)
    assert (made.distribution, made.module, made.plugin) == (distribution, module, plugin)


@pytest.mark.parametrize("given", ["", "2nd", "a/b", "../up", "a--b", "class", "moorage", "über"])
def test_what_cannot_be_a_package_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="NAME"):
        names(given)


def test_a_misspelt_point_is_answered_with_the_nearest(tmp_path: Path) -> None:
    refused = _invoke("x", "--points", "filter,scor", "--into", str(tmp_path))
    assert refused.exit_code == 2
    assert refused.stderr == '--points: no extension point is called "scor"; did you mean score?\n'
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    refused = _invoke("x", "--into", str(tmp_path))
    assert refused.exit_code == 2
    assert "is there already" in refused.stderr


def test_points_go_by_any_spelling_in_the_order_a_pod_meets_them(tmp_path: Path) -> None:
    assert _invoke("x", "--points", "pre_score,PreFilter", "--into", str(tmp_path)).exit_code == 0
    text = (tmp_path / "x/src/x/plugin.py").read_text()
    defined = [line.split("(")[0].strip() for line in text.splitlines() if line.startswith("    def ")]
    assert defined == ["def __init__", "def pre_filter", "def pre_score", "def score", "def events_to_register"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package for each point alone, and one with all of them."""
    folder = tmp_path_factory.mktemp("packages")
    for number, points in enumerate([*(_points(point) for point in POINTS), list(POINTS)]):
        for path, text in files(names(f"plugin{number}"), points).items():
            # One suite of all of them: each its own test module.
            file = folder / path.replace("tests/test_plugin", f"tests/test_plugin{number}").replace(
                "scheduler.yaml", f"scheduler{number}.yaml"
            )
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return folder


def _run(folder: Path, *arguments: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={"PYTHONPATH": "src", "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_tests_of_a_new_package_pass(packages: Path) -> None:
    _run(packages, "pytest", "-q", "-p", "no:cacheprovider", "tests")


def test_a_new_package_is_formatted_and_has_nothing_to_lint(packages: Path) -> None:
    for verb in (["format", "--check"], ["check"]):
        _run(packages, "ruff", *verb, "--no-cache", "--config", str(ROOT / "pyproject.toml"), "--diff", "src", "tests")


def test_a_new_package_has_no_type_errors(packages: Path) -> None:
    _run(
        packages,
        "mypy",
        "--strict",
        "--cache-dir",
        # Kept from run to run: what is Moorage's own need not be read again.
        str(ROOT / ".mypy_cache" / "new-package"),
        "src/plugin13/plugin.py",
        "tests/test_plugin13.py",
    )


def test_the_manifests_run_the_image_with_the_configuration_and_the_rights_it_needs() -> None:
    made = files(names("prefer-green"), ["score"])
    found = {one["kind"]: one for one in yaml.load_all(made["manifests.yaml"])}
    container = found["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "prefer-green:latest"
    assert yaml.load(found["ConfigMap"]["data"]["config.yaml"]) == yaml.load(made["scheduler.yaml"])
    assert {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]} in found["ClusterRole"][
        "rules"
    ]


@pytest.mark.parametrize("number", range(len(POINTS) + 1))
def test_the_configuration_enables_the_plugin_at_each_of_its_points(packages: Path, number: int) -> None:
    points = POINTS if number == len(POINTS) else (POINTS[number],)
    served = frozenset(points) - {"normalizeScore"} | ({"score"} if "normalizeScore" in points else frozenset())
    name = f"Plugin{number}"
    file = packages / f"scheduler{number}.yaml"
    (profile,) = load_config(
        file.read_text(), source=str(file), known=KnownPlugins({**IN_TREE_POINTS, name: served})
    ).profiles
    assert profile.scheduler_name == f"plugin{number}"
    for point in served:
        assert name in profile.plugins.at(point), point

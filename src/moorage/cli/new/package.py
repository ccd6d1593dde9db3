"""The files of a new plugin's package."""

from collections.abc import Iterable, Sequence
from string import Template
from typing import Any, Final

from moorage import __version__
from moorage.cli.new.names import Names
from moorage.cli.new.pieces import EVENTS, PIECES, REJECTING, Piece
from moorage.config.points import POD_POINTS
from moorage.values import yaml

#: One method more than there are points to configure: normalising comes with Score.
POINTS: Final = tuple(
    name for point in POD_POINTS for name in ((point, "normalizeScore") if point == "score" else (point,))
)


def files(names: Names, points: Sequence[str]) -> dict[str, str]:
    """path -> text of a package whose plugin serves `points` (of POINTS, in their order)."""
    pieces = [PIECES[point] for point in points]
    if REJECTING.intersection(points):
        pieces.append(EVENTS)
    plain = {
        "pyproject.toml": _PYPROJECT,
        "README.md": _README,
        "Makefile": _MAKEFILE,
        "Dockerfile": _DOCKERFILE,
        ".dockerignore": ".venv\n**/__pycache__\n",
        ".gitignore": ".venv/\n__pycache__/\ndist/\n",
        f"src/{names.module}/__init__.py": _INIT,
        f"src/{names.module}/py.typed": "",
        "examples/pods.yaml": _PODS,
    }
    made = {path: _fill(text, names) for path, text in plain.items()}
    made[f"src/{names.module}/plugin.py"] = _plugin(names, pieces)
    made["tests/test_plugin.py"] = _tests(names, pieces)
    configuration = _configuration(names, points)
    head = f"# A profile of its own: pods ask for it by spec.schedulerName: {names.distribution}\n"
    made["scheduler.yaml"] = head + yaml.dump(configuration)
    made["manifests.yaml"] = _manifests(names, made[f"src/{names.module}/plugin.py"], configuration)
    return made


def _manifests(names: Names, source: str, configuration: dict[str, Any]) -> str:
    """What `make manifests` prints in the package: the rights are those of the plugin as it is."""
    from moorage.engine.engine import default_registry
    from moorage.live.manifests import Deployment, manifests

    code: dict[str, Any] = {"__name__": f"{names.module}.plugin"}
    exec(source, code)
    registry = default_registry()
    registry.register(code[names.plugin])
    made = manifests(configuration, registry, Deployment(names.distribution, image=f"{names.distribution}:latest"))
    return "---\n".join(yaml.dump(one) for one in made)


def _plugin(names: Names, pieces: Sequence[Piece]) -> str:
    logs = any("logger." in piece.method for piece in pieces)
    head = _fill(_PLUGIN_DOC, names)
    imports = ["import logging"] if logs else []
    imports += ["from typing import Any", "", _framework_import(name for piece in pieces for name in piece.imports)]
    logger = "\nlogger = logging.getLogger(__name__)\n" if logs else ""
    fields = "".join(piece.field for piece in pieces)
    methods = "\n".join(_fill(piece.method, names) for piece in pieces)
    return f"{head}\n{_lines(imports)}{logger}\n\n{_fill(_CLASS, names)}{fields}\n{methods}"


def _tests(names: Names, pieces: Sequence[Piece]) -> str:
    tests = "\n\n".join(_fill(piece.test, names) for piece in pieces)
    standard = [f"import {name}" for name in ("asyncio",) if f"{name}." in tests]
    outer = [text for text, sign in (("import numpy as np", "np."), ("import pytest", "pytest.")) if sign in tests]
    ours = [f"from {names.module}.plugin import {names.plugin}"]
    framework = _framework_import(name for piece in pieces for name in piece.test_imports)
    kit = [name for name in ("Cluster", "a_node", "a_pod") if f"{name}(" in tests + _CLUSTER]
    outer += [*([framework] if framework else []), f"from moorage.testing import {', '.join(kit)}"]
    blocks = [block for block in (standard, outer, ours) if block]
    imports = "\n".join(_lines(block) for block in blocks)
    return f'"""What {names.plugin} does, point by point."""\n\n{imports}\n{_fill(_CLUSTER, names)}\n\n{tests}'


def _configuration(names: Names, points: Sequence[str]) -> dict[str, Any]:
    """Enables the plugin beside the default ones, under a scheduler's name of its own."""
    enabled: dict[str, object] = {"name": names.plugin}
    if "score" in points:
        enabled["weight"] = 5
    plugins: dict[str, object] = {"multiPoint": {"enabled": [enabled]}}
    if "queueSort" in points:
        # One plugin orders the queue: this one instead of PrioritySort.
        plugins["queueSort"] = {"enabled": [{"name": names.plugin}], "disabled": [{"name": "PrioritySort"}]}
    if "bind" in points:
        # The first Bind plugin that does not skip binds the pod: this one goes before DefaultBinder.
        plugins["bind"] = {
            "enabled": [{"name": names.plugin}, {"name": "DefaultBinder"}],
            "disabled": [{"name": "DefaultBinder"}],
        }
    profile = {
        "schedulerName": names.distribution,
        "plugins": plugins,
        "pluginConfig": [{"name": names.plugin, "args": {"label": names.label}}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": True, "resourceName": names.distribution},
        "profiles": [profile],
    }


def _framework_import(wanted: Iterable[str]) -> str:
    ordered = sorted(set(wanted), key=lambda name: (not name.isupper(), name[0].islower(), name))
    line = f"from moorage.framework import {', '.join(ordered)}"
    if not ordered or len(line) <= _WIDTH:
        return line if ordered else ""
    return "from moorage.framework import (\n" + "".join(f"    {name},\n" for name in ordered) + ")"


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _fill(text: str, names: Names) -> str:
    version = ".".join(__version__.split(".")[:2])
    values = {
        "plugin": names.plugin,
        "module": names.module,
        "name": names.distribution,
        "label": names.label,
        "version": version,
    }
    return Template(text).substitute(values)


_WIDTH: Final = 120

_INIT: Final = '"""$name: a scheduling plugin for Moorage."""\n'

_PLUGIN_DOC: Final = '''\
"""The plugin: each method serves the extension point it is named after.

A method that is not needed can go, and the plugin is not asked at that point any more.
"""
'''

_CLASS: Final = '''\
class $plugin:
    """Reads one label, of nodes and pods; `label` in the configuration's pluginConfig renames it."""

    def __init__(self, args: dict[str, Any] | None, _handle: object) -> None:
        self.label: str = (args or {}).get("label", "$label")
'''

_CLUSTER: Final = """\
LABEL = "$label"
CLUSTER = Cluster(
    a_node("plain"),
    a_node("always").labels({LABEL: "always"}),
    a_node("never").labels({LABEL: "never"}),
)
"""

_PYPROJECT: Final = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "$name"
version = "0.1.0"
description = "A scheduling plugin for Moorage"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["moorage>=$version"]

# Moorage finds the plugin by this entry point wherever the package is installed.
[project.entry-points."moorage.plugins"]
$plugin = "$module.plugin:$plugin"

[dependency-groups]
dev = ["pytest>=8.3"]

[tool.hatch.build.targets.wheel]
packages = ["src/$module"]

[tool.pytest.ini_options]
testpaths = ["tests"]
"""

_MAKEFILE: Final = """\
# A fresh machine wants only Python 3.11+, make and a package index that has moorage
# (or a wheel of it: make test MOORAGE=path/to/moorage.whl).
PYTHON ?= python3
MOORAGE ?= moorage>=$version
BIN := .venv/bin
IMAGE ?= $name:latest

.PHONY: setup test up manifests image

.venv/.ready: pyproject.toml
	@$$(PYTHON) -m venv .venv
	@$$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(MOORAGE)"
	@$$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $$@

setup: .venv/.ready

test: .venv/.ready
	@$$(BIN)/python -m pytest -q

# A cluster in one process, with the plugin in its scheduler, which begins again when the plugin changes.
up: .venv/.ready
	@$$(BIN)/moorage up --reload --config scheduler.yaml

# What to apply, with the rights that the plugin needs as it is now.
manifests: .venv/.ready
	@$$(BIN)/moorage manifests --name $name --config scheduler.yaml --image $$(IMAGE) > manifests.yaml

# BASE is an image with Moorage in it; INDEX, where pip finds packages.
image:
	docker build --build-arg BASE="$$(BASE)" --build-arg INDEX="$$(INDEX)" -t $$(IMAGE) .
"""

_DOCKERFILE: Final = """\
# The plugin as a layer over an image that has Moorage in /opt/moorage:
#   make image BASE=your/moorage:tag INDEX=https://your.index/simple
ARG BASE
FROM $${BASE}
ARG INDEX
USER 0:0
COPY pyproject.toml README.md /src/
COPY src /src/src
RUN /opt/moorage/bin/pip install --no-cache-dir $${INDEX:+--index-url "$${INDEX}"} /src && rm -r /src
USER 65532:65532
"""

_PODS: Final = """\
# Two pods for the scheduler that scheduler.yaml configures.
apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  schedulerName: $name
  containers: [{name: main, image: "app:1", resources: {requests: {cpu: 100m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: second, labels: {$label: only}}
spec:
  schedulerName: $name
  containers: [{name: main, image: "app:1", resources: {requests: {cpu: 100m}}}]
"""

_README: Final = """\
# $name

A scheduling plugin for Moorage: `$plugin` in `src/$module/plugin.py`.

```
make test     # its tests, in a .venv of their own
make up       # a cluster in one process, with the plugin in its scheduler; it begins again when the plugin changes
```

In another terminal, with what `make up` prints:

```
kubectl label node node-1 $label=always
kubectl apply -f examples/pods.yaml
kubectl get pods -o wide
```

## Develop

Change a method, run `make test`. The methods a plugin has say which extension points it serves; one that is not there
is not asked. `scheduler.yaml` enables the plugin and gives it its arguments:

```
.venv/bin/moorage config validate scheduler.yaml
.venv/bin/moorage config view scheduler.yaml
```

## Put it into a cluster

```
make image BASE=<an image of Moorage> INDEX=<your package index>
make manifests    # when the plugin or scheduler.yaml has changed
kubectl apply -f manifests.yaml
```

Pods go to it by `spec.schedulerName: $name`; all others stay with the cluster's own scheduler.
"""

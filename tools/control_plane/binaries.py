"""Which programs make a control plane, of which version, and the folder they are found in."""

import os
import shutil
from pathlib import Path

MODULES = Path(__file__).parent / "module"
DEFAULT_VERSION = "v1.37.1"
VERSION_VARIABLE = "MOORAGE_CONTROL_PLANE_VERSION"
ASSETS_VARIABLE = "KUBEBUILDER_ASSETS"

_KUBERNETES = "k8s.io/kubernetes/cmd"

# In the order they are built: each finds the packages of those before it compiled already.
PACKAGES = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": f"{_KUBERNETES}/kube-apiserver",
    "kube-scheduler": f"{_KUBERNETES}/kube-scheduler",
    "kubectl": f"{_KUBERNETES}/kubectl",
    "kube-controller-manager": f"{_KUBERNETES}/kube-controller-manager",
}

# What others ship as test assets: an API server to talk to, and no more.
ESSENTIAL = ("etcd", "kube-apiserver")


class UnknownVersionError(Exception):
    """A version is asked for that nothing here says how to build."""


def versions() -> list[str]:
    """The versions that can be built: each has a Go module that pins it."""
    return sorted(path.name for path in MODULES.iterdir() if (path / "go.mod").exists())


def version() -> str:
    """The version in use: the one that the environment names ("v1.36.4", "1.36.4" or "1.36"), else the default."""
    asked = os.environ.get(VERSION_VARIABLE) or DEFAULT_VERSION
    wanted = f"v{asked.removeprefix('v')}"
    for known in versions():
        if wanted in (known, known.rpartition(".")[0]):
            return known
    raise UnknownVersionError(f"{VERSION_VARIABLE}={asked}: there is no such version, but {', '.join(versions())}")


def assets_folder() -> Path | None:
    """The folder that $KUBEBUILDER_ASSETS names: binaries somebody else provides."""
    value = os.environ.get(ASSETS_VARIABLE)
    return Path(value).expanduser() if value else None


def cache_folder() -> Path:
    """Where this version's binaries are built: in the user's cache, so that every checkout finds them."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "moorage" / "control-plane" / version()


def folder() -> Path:
    """The folder to take binaries from, whether or not they are there yet."""
    return assets_folder() or cache_folder()


def every_kubectl() -> dict[str, Path]:
    """kubectl of each version that is built here, by version."""
    built = {known: cache_folder().with_name(known) / "kubectl" for known in versions()}
    return {known: path for known, path in built.items() if path.exists()}


def any_kubectl() -> Path | None:
    """kubectl of the control plane's version, or whatever is installed."""
    built = folder() / "kubectl"
    if built.exists():
        return built
    installed = shutil.which("kubectl")
    return Path(installed) if installed else None


def missing(where: Path) -> list[str]:
    """The programs that `where` lacks and that a control plane from there needs."""
    needed = ESSENTIAL if where == assets_folder() else tuple(PACKAGES)
    return [name for name in needed if not os.access(where / name, os.X_OK)]


def obtainable() -> bool:
    """Whether a control plane can be had here: the binaries are there, or Go is, to build them."""
    if not missing(folder()):
        return True
    return assets_folder() is None and shutil.which("go") is not None

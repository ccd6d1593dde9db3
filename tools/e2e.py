"""`python -m tools.e2e --focus REGEX`: Kubernetes' own end-to-end specs, with our scheduler in kube-scheduler's place.

Builds the suite of the version that $MOORAGE_CONTROL_PLANE_VERSION names into the user's cache (once: minutes, and the
public module proxy), then runs it on a control plane of that version with hollow nodes of ours. `--kube-scheduler` runs
the same with theirs, to know what can pass here. Ends with the suite's own status; its output is kept where it says.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from moorage.kube.access import load_access
from moorage.kube.transport import Client
from moorage.nodes.running import run_nodes
from moorage.nodes.shapes import parse_shape
from tools.control_plane import binaries
from tools.control_plane.build import version_flags
from tools.control_plane.processes import Process, free_ports
from tools.control_plane.running import ControlPlane, run

SUITE = "k8s.io/kubernetes/test/e2e"
NODES = "name=hollow,count=6,cpu=8,memory=32Gi,pods=110"
CONTROLLERS = "*,-node-ipam-controller,-node-route-controller,-cloud-node-lifecycle-controller"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.e2e", description=__doc__)
    parser.add_argument("--focus", required=True, help="which specs, as ginkgo takes it")
    parser.add_argument("--skip", default="", help="which of them not")
    parser.add_argument("--output", type=Path, default=Path("e2e.log"), help="where the suite's output goes")
    parser.add_argument("--kube-scheduler", action="store_true", help="theirs in place of ours")
    options = parser.parse_args(arguments)
    program = _suite()
    with run(has_controllers=True) as plane:
        plane.start_kube_controller_manager(CONTROLLERS)
        with contextlib.ExitStack() as ending:
            if options.kube_scheduler:
                plane.start_kube_scheduler()
            else:
                ending.enter_context(_our_scheduler(plane))
            return asyncio.run(_run(plane, program, options))


def _suite() -> Path:
    """The suite's program, built if it is not there."""
    home = binaries.cache_folder().with_name(f"e2e-{binaries.version()}")
    program = home / "e2e.test"
    if program.exists():
        return program
    module = home / "module"
    shutil.copytree(binaries.MODULES / binaries.version(), module, dirs_exist_ok=True)
    (module / "suite.go").write_text(f'//go:build suite\n\npackage controlplane\n\nimport _ "{SUITE}"\n')
    environment = {**os.environ, "GOWORK": "off"}
    subprocess.run(["go", "mod", "tidy"], cwd=module, env=environment, check=True)
    build = ["go", "test", "-c", "-o", str(program), "-ldflags", version_flags(), SUITE]
    subprocess.run(build, cwd=module, env=environment, check=True)
    return program


def _our_scheduler(plane: ControlPlane) -> Process:
    (port,) = free_ports(1)
    minor = binaries.version().removeprefix("v").rpartition(".")[0]
    command = [
        *(sys.executable, "-m", "moorage", "scheduler", f"--kubeconfig={plane.access.kubeconfig}"),
        *("--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={port}"),
        *(f"--emulated-version={minor}", "-v=2"),
    ]
    return Process("moorage scheduler", command, plane.home / "moorage-scheduler.log")


async def _run(plane: ControlPlane, program: Path, options: argparse.Namespace) -> int:
    command = [
        *(str(program), f"--kubeconfig={plane.access.kubeconfig}", f"--kubectl-path={plane.program('kubectl')}"),
        *("--provider=skeleton", "--minStartupPods=0", "--node-schedulable-timeout=2m"),
        *("--ginkgo.v", "--ginkgo.no-color", f"--ginkgo.focus={options.focus}"),
        *([f"--ginkgo.skip={options.skip}"] if options.skip else []),
    ]
    async with _nodes(plane):
        with options.output.open("wb") as output:
            child = await asyncio.create_subprocess_exec(*command, stdout=output, stderr=output, cwd=plane.home)
            status = await child.wait()
    lines = options.output.read_text(errors="replace").splitlines()
    found = [
        line for line in lines if line.startswith(("Ran ", "FAIL!", "SUCCESS!")) or "[Fail]" in line or "[FAIL]" in line
    ]
    print("\n".join(found), f"\n{options.output}")
    return status


@contextlib.asynccontextmanager
async def _nodes(plane: ControlPlane) -> AsyncIterator[None]:
    ready = asyncio.Event()
    async with Client(load_access(plane.access.kubeconfig)) as client:
        work = asyncio.create_task(run_nodes(client, [parse_shape(NODES)], on_ready=ready.set))
        await ready.wait()
        yield
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


if __name__ == "__main__":
    sys.exit(main())

"""A real control plane on loopback: an API server on etcd, and the programs beside it that a test asks for."""

import contextlib
import http.client
import json
import secrets
import ssl
import subprocess
import tempfile
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tools.control_plane.binaries import folder
from tools.control_plane.processes import Process, ProcessError, free_ports

LOOPBACK = "127.0.0.1"

# No kubelet stands behind the nodes of a test, so nobody may judge them by their heartbeats.
CONTROLLERS = "*,-node-lifecycle-controller"


@dataclass(frozen=True)
class Access:
    """How to reach an API server as its administrator."""

    url: str
    token: str
    ca_file: Path
    kubeconfig: Path


class ControlPlane:
    """etcd and kube-apiserver, running; further programs start on demand. Made by `run()`, which ends them all."""

    def __init__(
        self,
        home: Path,
        binaries: Path,
        ending: contextlib.ExitStack,
        gates: Mapping[str, bool] | None = None,
        apis: Sequence[str] = (),
        *,
        has_controllers: bool = False,
    ) -> None:
        self.home = home
        self.binaries = binaries
        self._gates = _gate_flags(gates or {})
        self._apis = [f"--runtime-config={','.join(f'{api}=true' for api in apis)}"] if apis else []
        self._has_controllers = has_controllers
        self._ending = ending
        self._started = 0
        #: The processes of etcd and kube-apiserver.
        self.pids: list[int] = []
        self._service_account_key = home / "service-account.key"
        _write_private_key(self._service_account_key)
        self.access = self._start_api_server(self._start_etcd())

    def start_kube_scheduler(self, config: Mapping[str, Any] | None = None) -> Process:
        """Start kube-scheduler with a KubeSchedulerConfiguration (its defaults if None), and wait for its health."""
        port, *_ = free_ports(1)
        settings = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            **(config or {}),
        }
        settings["leaderElection"] = {"leaderElect": False}
        settings["clientConnection"] = {
            **settings.get("clientConnection", {}),
            "kubeconfig": str(self.access.kubeconfig),
        }
        path = self.home / f"kube-scheduler-{port}.json"
        path.write_text(json.dumps(settings))
        process = self._start("kube-scheduler", f"--config={path}", *self._gates, *_serving(port))
        process.wait_until(lambda: _answers(f"https://{LOOPBACK}:{port}/healthz"))
        return process

    def start_kube_controller_manager(self, controllers: str = CONTROLLERS) -> Process:
        """Start kube-controller-manager with these `--controllers`, and wait for its health."""
        port, *_ = free_ports(1)
        process = self._start(
            "kube-controller-manager",
            f"--kubeconfig={self.access.kubeconfig}",
            "--leader-elect=false",
            f"--controllers={controllers}",
            f"--root-ca-file={self.access.ca_file}",
            f"--service-account-private-key-file={self._service_account_key}",
            *self._gates,
            *_serving(port),
        )
        process.wait_until(lambda: _answers(f"https://{LOOPBACK}:{port}/healthz"))
        return process

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """What kubectl prints here; see the function."""
        return kubectl(self.program("kubectl"), self.access, *arguments, stdin=stdin)

    def program(self, name: str) -> Path:
        """The path of a program; raise ProcessError if this folder of binaries does not have it."""
        path = self.binaries / name
        if not path.exists():
            raise ProcessError(f"{self.binaries} has no {name}: `make control-plane` builds it")
        return path

    def _start(self, name: str, *flags: str) -> Process:
        self._started += 1
        log = self.home / f"{self._started}-{name}.log"
        process = Process(name, [self.program(name), *flags], log)
        self._ending.callback(process.end)
        return process

    def _start_etcd(self) -> str:
        client, peer = (f"http://{LOOPBACK}:{port}" for port in free_ports(2))
        process = self._start(
            "etcd",
            f"--data-dir={self.home / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=error",
        )
        process.wait_until(lambda: _answers(f"{client}/readyz"))
        self.pids.append(process.pid)
        return client

    def _start_api_server(self, etcd: str) -> Access:
        port, *_ = free_ports(1)
        token = secrets.token_hex(16)
        tokens = self.home / "tokens.csv"
        tokens.write_text(f'{token},admin,admin,"system:masters"\n')
        certificates = self.home / "certificates"
        process = self._start(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--advertise-address={LOOPBACK}",
            # Nobody in a cluster can reach a loopback address: since 1.37 it may not become an endpoint.
            "--endpoint-reconciler-type=none",
            f"--cert-dir={certificates}",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--service-account-key-file={self._service_account_key}",
            f"--service-account-signing-key-file={self._service_account_key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={tokens}",
            *self._admission(),
            # One client of a test or a benchmark may ask all it can: nothing is to be fair to.
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=0",
            "--max-mutating-requests-inflight=0",
            *self._gates,
            *self._apis,
            *_serving(port),
        )
        url = f"https://{LOOPBACK}:{port}"
        process.wait_until(lambda: _answers(f"{url}/readyz", token))
        self.pids.append(process.pid)
        kubeconfig = self.home / "kubeconfig.json"
        access = Access(url, token, certificates / "apiserver.crt", kubeconfig)
        kubeconfig.write_text(json.dumps(_kubeconfig(access)))
        return access

    def _admission(self) -> Sequence[str]:
        if self._has_controllers:
            return "--authorization-mode=Node,RBAC", "--allow-privileged=true"
        # No controller is sure to be there to make service accounts, or to take the not-ready taint off.
        return "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"


@contextlib.contextmanager
def run(
    binaries: Path | None = None,
    *,
    gates: Mapping[str, bool] | None = None,
    apis: Sequence[str] = (),
    has_controllers: bool = False,
) -> Iterator[ControlPlane]:
    """A control plane from the programs in `binaries`; it ends, with all that was started in it, with the block.

    `gates` are turned in every program; `apis` ("scheduling.k8s.io/v1beta1") are served that are not by default.
    Where kube-controller-manager is going to be there, `has_controllers` leaves on what relies on it.
    """
    with (
        tempfile.TemporaryDirectory(prefix="moorage-control-plane-") as home,
        contextlib.ExitStack() as ending,
    ):
        yield ControlPlane(Path(home), binaries or folder(), ending, gates, apis, has_controllers=has_controllers)


def kubectl(program: Path, access: Access, *arguments: str, stdin: str = "") -> str:
    """What kubectl prints when run against an API server; raise ProcessError with its complaint where it fails."""
    command = [str(program), f"--kubeconfig={access.kubeconfig}", *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProcessError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _gate_flags(gates: Mapping[str, bool]) -> list[str]:
    listed = ",".join(f"{name}={str(value).lower()}" for name, value in gates.items())
    return [f"--feature-gates={listed}"] if listed else []


def _serving(port: int) -> tuple[str, str]:
    return f"--bind-address={LOOPBACK}", f"--secure-port={port}"


def _answers(url: str, token: str = "") -> bool:
    """Whether a health check of a program just started, on loopback, answers well. Its certificate is its own."""
    address = urllib.parse.urlsplit(url)
    if address.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(address.netloc, timeout=5, context=context)
    else:
        connection = http.client.HTTPConnection(address.netloc, timeout=5)
    try:
        connection.request("GET", address.path, headers={"Authorization": f"Bearer {token}"} if token else {})
        return connection.getresponse().status == 200
    except (http.client.HTTPException, OSError):
        return False
    finally:
        connection.close()


def _write_private_key(path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    path.write_bytes(text)


def _kubeconfig(access: Access) -> dict[str, Any]:
    cluster = {"server": access.url, "certificate-authority": str(access.ca_file)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": access.token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }

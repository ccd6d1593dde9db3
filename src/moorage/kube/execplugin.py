"""Exec credential plugins: a program of the user's that prints an ExecCredential (client.authentication.k8s.io)."""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from moorage.kube.credentials import ClientCertificate, Credential, bearer
from moorage.kube.errors import CredentialsError

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
RUN_LIMIT = 60.0
"""Seconds a plugin that asks nothing of the user may take."""

EXPIRY_MARGIN = 10.0
"""Seconds before its expiry at which a credential is renewed, so that no request is under way when it ends."""


class _ExecStatus(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _ExecStatus | None = None


@dataclass(frozen=True)
class ExecSource:
    """Runs `command` for each fetch. `cluster` is told to the plugin when the kubeconfig asks for that."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    api_version: str = API_VERSIONS[0]
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    cluster: Mapping[str, Any] | None = None

    async def fetch(self) -> Credential:
        interactive = self._interactive()
        output = await self._run(interactive)
        status = self._status(output)
        certificate = None
        if status.client_certificate_data and status.client_key_data:
            certificate = ClientCertificate(status.client_certificate_data.encode(), status.client_key_data.encode())
        elif status.client_certificate_data or status.client_key_data:
            raise self._error("gave a client certificate without its key, or a key without its certificate")
        elif not status.token:
            raise self._error("gave neither a token nor a client certificate")
        return Credential(
            authorization=bearer(status.token) if status.token else "",
            certificate=certificate,
            expires_at=_expiry(status.expiration_timestamp),
        )

    def _interactive(self) -> bool:
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if self.interactive_mode == "Always" and not terminal:
            raise self._error("wants a terminal (interactiveMode: Always), and there is none")
        return terminal and self.interactive_mode != "Never"

    def _environment(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self.cluster is not None:
            spec["cluster"] = dict(self.cluster)
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        return {**os.environ, **self.env, "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}

    async def _run(self, interactive: bool) -> bytes:
        """The plugin's standard output. What it says to the user goes to the terminal, or into the error."""
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.args,
                env=self._environment(interactive),
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if interactive else asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"; {self.install_hint.strip()}" if self.install_hint else ""
            raise self._error(f"cannot be run: {error.strerror}{hint}") from error
        try:
            async with asyncio.timeout(None if interactive else RUN_LIMIT):
                output, complaints = await process.communicate()
        except TimeoutError:
            raise self._error(f"took longer than {RUN_LIMIT:.0f} seconds") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            said = " ".join((complaints or b"").decode(errors="replace").split())[-300:]
            raise self._error(f"ended with status {process.returncode}" + (f": {said}" if said else ""))
        return output

    def _status(self, output: bytes) -> _ExecStatus:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.DecodeError as error:
            raise self._error(f"printed something that is no ExecCredential: {error}") from error
        if answer.api_version != self.api_version:
            raise self._error(f"answered in {answer.api_version or 'no version'}, not in {self.api_version}")
        if answer.status is None:
            raise self._error("printed an ExecCredential without status")
        return answer.status

    def _error(self, problem: str) -> CredentialsError:
        return CredentialsError(f"the credential plugin {self.command!r} {problem}")


def _expiry(timestamp: datetime | None) -> float | None:
    if timestamp is None:
        return None
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=UTC)
    return timestamp.timestamp() - EXPIRY_MARGIN

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from moorage.kube.errors import CredentialsError
from moorage.kube.execplugin import API_VERSIONS, EXPIRY_MARGIN, ExecSource

V1, V1BETA1 = API_VERSIONS


def plugin(tmp_path: Path, code: str, **settings: Any) -> ExecSource:
    """A source whose program is this Python code."""
    script = tmp_path / "plugin.py"
    script.write_text("import json, os, sys\n" + code)
    return ExecSource(command=sys.executable, args=(str(script),), interactive_mode="Never", **settings)


def printing(status: dict[str, Any] | None, version: str = V1) -> str:
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return f"print({json.dumps(json.dumps(answer))})"


@pytest.mark.parametrize("version", API_VERSIONS)
async def test_a_token_with_an_expiry(tmp_path: Path, version: str) -> None:
    status = {"token": "t", "expirationTimestamp": "2030-01-01T00:00:00Z"}
    credential = await plugin(tmp_path, printing(status, version), api_version=version).fetch()
    assert credential.authorization == "Bearer t"
    assert credential.expires_at == datetime(2030, 1, 1, tzinfo=UTC).timestamp() - EXPIRY_MARGIN


async def test_a_client_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "chain", "clientKeyData": "key"}
    credential = await plugin(tmp_path, printing(status)).fetch()
    assert credential.certificate is not None
    assert credential.certificate.key == b"key"
    assert credential.expires_at is None


async def test_the_plugin_is_told_version_cluster_and_environment(tmp_path: Path) -> None:
    code = """
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
token = "|".join([info["apiVersion"], info["kind"], str(info["spec"]["interactive"]),
                  info["spec"]["cluster"]["server"], os.environ["MINE"]])
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": token}}))
"""
    source = plugin(tmp_path, code, api_version=V1BETA1, env={"MINE": "yes"}, cluster={"server": "https://x"})
    assert (await source.fetch()).authorization == f"Bearer {V1BETA1}|ExecCredential|False|https://x|yes"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('not logged in', file=sys.stderr); sys.exit(3)", "ended with status 3: not logged in"),
        ("print('hello')", "is no ExecCredential"),
        (printing({"token": "t"}, V1BETA1), f"answered in {V1BETA1}, not in {V1}"),
        (printing(None), "without status"),
        (printing({}), "neither a token nor a client certificate"),
        (printing({"clientKeyData": "k"}), "a key without its certificate"),
    ],
)
async def test_what_a_plugin_does_wrong_is_told(tmp_path: Path, code: str, said: str) -> None:
    with pytest.raises(CredentialsError) as caught:
        await plugin(tmp_path, code).fetch()
    assert said in str(caught.value)


async def test_a_missing_program_comes_with_its_install_hint(tmp_path: Path) -> None:
    source = ExecSource(command=str(tmp_path / "no-such"), install_hint="get it from your cloud")
    with pytest.raises(CredentialsError, match=r"No such file or directory; get it from your cloud"):
        await source.fetch()


async def test_a_plugin_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.kube.execplugin.RUN_LIMIT", 0.2)
    with pytest.raises(CredentialsError, match="took longer"):
        await plugin(tmp_path, "import time; time.sleep(60)").fetch()

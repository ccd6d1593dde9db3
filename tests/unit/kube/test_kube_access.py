import base64
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.errors import InputError
from moorage.kube.access import ClusterAccess, in_cluster_access, load_access
from moorage.kube.credentials import Credential, StaticSource
from moorage.kube.execplugin import ExecSource


def write(path: Path, **content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **content}))
    return path


def config(
    path: Path,
    *,
    user: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    namespace: str = "",
) -> Path:
    return write(
        path,
        **{"current-context": "here"},
        contexts=[{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
        clusters=[{"name": "c", "cluster": cluster or {"server": "https://example:6443"}}],
        users=[{"name": "u", "user": user or {}}],
    )


async def fetch(access: ClusterAccess) -> Credential:
    return await access.source.fetch()


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_the_current_context_decides(tmp_path: Path) -> None:
    access = load_access(config(tmp_path / "config", user={"token": "secret"}, namespace="team-a"))
    assert access.server == "https://example:6443"
    assert access.namespace == "team-a"
    assert not access.insecure
    assert (await fetch(access)).authorization == "Bearer secret"


async def test_of_several_files_the_first_to_name_a_thing_wins(tmp_path: Path) -> None:
    first = write(
        tmp_path / "a",
        clusters=[{"name": "c", "cluster": {"server": "https://first"}}],
        contexts=[{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        users=None,
    )
    second = write(
        tmp_path / "b",
        **{"current-context": "x"},
        clusters=[{"name": "c", "cluster": {"server": "https://second"}}],
        users=[{"name": "u", "user": {"token": "from-b"}}],
    )
    missing = tmp_path / "missing"
    access = load_access(environ={"KUBECONFIG": os.pathsep.join(map(str, (missing, first, second)))})
    assert access.server == "https://first"
    assert (await fetch(access)).authorization == "Bearer from-b"


def test_another_context_and_another_server_can_be_asked_for(tmp_path: Path) -> None:
    path = write(
        tmp_path / "config",
        **{"current-context": "a"},
        contexts=[{"name": name, "context": {"cluster": name}} for name in ("a", "b")],
        clusters=[{"name": name, "cluster": {"server": f"https://{name}"}} for name in ("a", "b")],
    )
    assert load_access(path, context="b").server == "https://b"
    assert load_access(path, context="b", master="https://other").server == "https://other"


async def test_paths_are_relative_to_their_file_and_data_wins_over_files(tmp_path: Path) -> None:
    path = config(
        tmp_path / "conf" / "config",
        cluster={"server": "https://x", "certificate-authority": "ca.pem"},
        user={"client-certificate": "c.pem", "client-key": "k.pem", "client-key-data": b64("inline key")},
    )
    (path.parent / "ca.pem").write_text("authority")
    (path.parent / "c.pem").write_text("chain")
    access = load_access(path)
    assert access.certificate_authority == b"authority"
    certificate = (await fetch(access)).certificate
    assert certificate is not None
    assert (certificate.certificate, certificate.key) == (b"chain", b"inline key")


async def test_certificate_files_are_read_again(tmp_path: Path) -> None:
    path = config(tmp_path / "config", user={"client-certificate": "c.pem", "client-key": "k.pem"})
    for name in ("c.pem", "k.pem"):
        (tmp_path / name).write_text("old")
    access = load_access(path)
    (tmp_path / "c.pem").write_text("new")
    certificate = (await fetch(access)).certificate
    assert certificate is not None
    assert certificate.certificate == b"new"


async def test_token_files_and_basic(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("rotated\n")
    by_file = load_access(config(tmp_path / "a", user={"tokenFile": "token"}))
    assert (await fetch(by_file)).authorization == "Bearer rotated"
    by_password = load_access(config(tmp_path / "b", user={"username": "me", "password": "pw"}))
    assert (await fetch(by_password)).authorization == "Basic " + b64("me:pw")


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-groups": ["a", "b"], "as-user-extra": {"scopes": ["x"]}}
    assert load_access(config(tmp_path / "config", user=user)).headers == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-scopes", "x"),
    )


def test_exec_plugins_are_told_of_the_cluster_when_they_ask(tmp_path: Path) -> None:
    cluster = {
        "server": "https://x",
        "certificate-authority-data": b64("ca"),
        "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"region": "eu"}}],
    }
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./bin/login",
        "args": ["--now"],
        "env": None,
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    source = load_access(config(tmp_path / "config", cluster=cluster, user={"exec": plugin})).source
    assert isinstance(source, ExecSource)
    assert source.command == str(tmp_path / "bin/login")
    assert source.cluster == {
        "server": "https://x",
        "certificate-authority-data": b64("ca"),
        "config": {"region": "eu"},
    }


@pytest.mark.parametrize(
    ("user", "cluster", "said"),
    [
        ({"client-certificate-data": "AA=="}, None, "user 'u': client-key is missing"),
        ({"client-certificate-data": "%%", "client-key-data": "AA=="}, None, "client-certificate-data is not base64"),
        ({"token": 7}, None, "users[0].user.token: Expected `str`, got `int`"),
        ({"tokenFile": "nope"}, None, "nope cannot be read"),
        ({"auth-provider": {"name": "gcp"}}, None, "use an exec plugin"),
        ({"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, None, "v1alpha1'"),
        ({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}, None, "missing required field `command`"),
        ({"as-groups": ["a"]}, None, "need a user in `as`"),
        ({}, {"server": ""}, "cluster 'c': server is empty"),
        ({}, {"server": "https://x", "certificate-authority": "none.pem"}, "none.pem cannot be read"),
        (
            {},
            {"server": "https://x", "insecure-skip-tls-verify": True, "certificate-authority-data": "AA=="},
            "exclude each other",
        ),
        ({}, {"server": "https://x", "proxy-url": "http://p"}, "proxy-url is not supported"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_field(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any] | None, said: str
) -> None:
    path = config(tmp_path / "config", user=user, cluster=cluster)
    with pytest.raises(InputError) as caught:
        load_access(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_missing_names_are_listed(tmp_path: Path) -> None:
    path = config(tmp_path / "config")
    with pytest.raises(InputError, match="there is no context 'other': expected one of here"):
        load_access(path, context="other")


def test_files_that_are_absent_or_no_yaml(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_access(tmp_path / "absent")
    (tmp_path / "broken").write_text("a: [")
    with pytest.raises(InputError, match="broken: "):
        load_access(tmp_path / "broken")
    with pytest.raises(InputError, match="no cluster to talk to"):
        load_access(environ={"HOME": str(tmp_path)}, mount=tmp_path)


def mount(path: Path) -> Path:
    path.mkdir()
    (path / "token").write_text("pod-token")
    (path / "ca.crt").write_text("authority")
    (path / "namespace").write_text("kube-system")
    return path


async def test_inside_a_pod_the_service_account_is_used(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    access = load_access(environ=environ, mount=mount(tmp_path / "sa"))
    assert access.server == "https://[fd00::1]:443"
    assert access.certificate_authority == b"authority"
    assert access.namespace == "kube-system"
    assert (await fetch(access)).authorization == "Bearer pod-token"
    (tmp_path / "sa" / "token").write_text("rotated")
    assert (await fetch(access)).authorization == "Bearer rotated"


def test_a_master_alone_is_reached_without_credentials(tmp_path: Path) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443", "HOME": str(tmp_path)}
    access = load_access(master="http://127.0.0.1:8080", environ=environ, mount=mount(tmp_path / "sa"))
    assert access == ClusterAccess("http://127.0.0.1:8080", source=access.source)
    assert isinstance(access.source, StaticSource)


def test_outside_a_pod_in_cluster_access_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not inside a cluster"):
        in_cluster_access(environ={}, mount=tmp_path)

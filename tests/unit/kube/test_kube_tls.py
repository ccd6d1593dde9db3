"""TLS as kubeconfig asks for it: verified unless told otherwise, under another name, with a client certificate."""

import datetime
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from moorage.errors import InputError
from moorage.kube.access import ClusterAccess
from moorage.kube.credentials import ClientCertificate, Credential, StaticSource
from moorage.kube.errors import AnswerLost, Unreachable
from moorage.kube.transport import Client

if TYPE_CHECKING:
    from tests.unit.kube.conftest import FakeApi

SERVER_NAME = "kubernetes.example"


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


class Authority:
    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        self.certificate = self._sign(self.name, self.key.public_key(), [], authority=True)

    def issue(self, common_name: str, dns: list[str]) -> ClientCertificate:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        return ClientCertificate(pem(self._sign(name, key.public_key(), dns)), key_pem(key))

    def _sign(
        self, name: x509.Name, key: ec.EllipticCurvePublicKey, dns: list[str], *, authority: bool = False
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if dns:
            names = x509.SubjectAlternativeName([x509.DNSName(each) for each in dns])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self.key, hashes.SHA256())


@dataclass
class SecureServer:
    url: str
    authority: bytes
    client: ClientCertificate


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def server(api: "FakeApi", authority: Authority, tmp_path: Path) -> AsyncIterator[SecureServer]:
    """A server that goes by another name than its address, and asks every client for a certificate."""
    issued = authority.issue("server", [SERVER_NAME])
    (tmp_path / "chain.pem").write_bytes(issued.certificate)
    (tmp_path / "key.pem").write_bytes(issued.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=pem(authority.certificate).decode())
    context.load_cert_chain(tmp_path / "chain.pem", tmp_path / "key.pem")
    context.verify_mode = ssl.CERT_OPTIONAL

    async def whoami(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert") or {}
        subject = {key: value for ((key, value),) in peer.get("subject", ())}
        return web.json_response({"user": subject.get("commonName", "anonymous")})

    api.on("GET", "/whoami", whoami)
    runner = web.ServerRunner(web.Server(api.handle), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    yield SecureServer(url, pem(authority.certificate), authority.issue("jane", []))
    await runner.cleanup()


async def ask(access: ClusterAccess) -> bytes:
    async with Client(access) as client, client.stream("/whoami", inactivity=5) as chunks:
        streamed = b"".join([chunk async for chunk in chunks])
        assert await client.get("/whoami") == streamed
        return streamed


async def test_a_verified_server_under_its_tls_server_name(server: SecureServer) -> None:
    access = ClusterAccess(server.url, certificate_authority=server.authority, tls_server_name=SERVER_NAME)
    assert await ask(access) == b'{"user": "anonymous"}'


async def test_a_client_certificate_is_presented(server: SecureServer) -> None:
    source = StaticSource(Credential(certificate=server.client))
    access = ClusterAccess(server.url, source, certificate_authority=server.authority, tls_server_name=SERVER_NAME)
    assert await ask(access) == b'{"user": "jane"}'


async def test_another_name_or_another_authority_is_refused(server: SecureServer) -> None:
    for access in (
        ClusterAccess(server.url, certificate_authority=server.authority),
        ClusterAccess(server.url, certificate_authority=pem(Authority().certificate), tls_server_name=SERVER_NAME),
    ):
        async with Client(access) as client:
            with pytest.raises(Unreachable, match=r"(?i)certificate"):
                await client.get("/whoami")
            with pytest.raises((Unreachable, AnswerLost), match=r"(?i)certificate"):
                async with client.stream("/whoami", inactivity=5):
                    pass


async def test_insecure_means_unverified(server: SecureServer) -> None:
    assert await ask(ClusterAccess(server.url, insecure=True)) == b'{"user": "anonymous"}'


async def test_a_new_client_certificate_means_new_connections(server: SecureServer, authority: Authority) -> None:
    class Renewing:
        names = iter(["old", "new"])

        async def fetch(self) -> Credential:
            return Credential(certificate=authority.issue(next(self.names), []), expires_at=0.0)

    access = ClusterAccess(server.url, Renewing(), certificate_authority=server.authority, tls_server_name=SERVER_NAME)
    async with Client(access) as client:
        assert await client.get("/whoami") == b'{"user": "old"}'
        assert await client.get("/whoami") == b'{"user": "new"}'


async def test_certificates_that_are_none_are_named(server: SecureServer) -> None:
    broken = StaticSource(Credential(certificate=ClientCertificate(b"x", b"y")))
    for access, said in (
        (ClusterAccess(server.url, certificate_authority=b"nonsense"), "certificate-authority is not a PEM"),
        (ClusterAccess(server.url, broken, insecure=True), "client certificate and key do not load"),
    ):
        async with Client(access) as client:
            with pytest.raises(InputError, match=said):
                await client.get("/whoami")

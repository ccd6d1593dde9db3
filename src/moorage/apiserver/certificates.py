"""The server's own certificate authority, and the certificates it signs."""

import datetime
import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_YEAR = datetime.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, both as PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs certificates for the server and for its users."""

    def __init__(self, pair: KeyPair) -> None:
        self.pair = pair
        self._certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = serialization.load_pem_private_key(pair.key, password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey), "our authorities have elliptic curve keys"
        self._key = key

    @classmethod
    def create(cls) -> "Authority":
        """A new authority with a new key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("moorage-ca")
        builder = (
            _builder(name, name, key, 10 * _YEAR)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        return cls(KeyPair(_pem(builder.sign(key, hashes.SHA256())), _key_pem(key)))

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate: what clients trust."""
        return self.pair.certificate

    def server(self, addresses: tuple[str, ...]) -> KeyPair:
        """A serving certificate for these host names and addresses."""
        names = [_general_name(address) for address in addresses]
        return self._sign("kube-apiserver", (), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: tuple[str, ...] = ()) -> KeyPair:
        """A client certificate: the common name is the user, the organisations are the groups."""
        return self._sign(user, groups, ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _sign(
        self, user: str, groups: tuple[str, ...], usage: x509.ObjectIdentifier, names: list[x509.GeneralName]
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = (
            _builder(_name(user, *groups), self._certificate.subject, key, 5 * _YEAR)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return KeyPair(_pem(builder.sign(self._key, hashes.SHA256())), _key_pem(key))


def load_or_create(folder: Path) -> Authority:
    """The authority kept in a folder; made, and written with the key readable by its owner only, if absent."""
    certificate, key = folder / "ca.crt", folder / "ca.key"
    if certificate.exists() and key.exists():
        return Authority(KeyPair(certificate.read_bytes(), key.read_bytes()))
    authority = Authority.create()
    write_private(key, authority.pair.key)
    certificate.write_bytes(authority.certificate)
    return authority


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, never readable by others in between."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    temporary.replace(path)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, life: datetime.timedelta
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + life)
    )


def _name(common_name: str, *organizations: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(address: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(address))
    except ValueError:
        return x509.DNSName(address)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )

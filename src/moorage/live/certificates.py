"""The certificate of the HTTPS endpoint: the user's, or one made on the spot."""

import datetime
import ipaddress
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from moorage.errors import InputError

_LIFETIME = datetime.timedelta(days=365)


def serving_context(certificate: Path | None, key: Path | None) -> ssl.SSLContext:
    """A context from these files; with neither, for a certificate of its own that nobody has reason to trust."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate is not None and key is not None:
        try:
            context.load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"cannot be used: {error}", where=f"--tls-cert-file {certificate}") from error
        return context
    if certificate is not None or key is not None:
        raise InputError("expected both --tls-cert-file and --tls-private-key-file, or neither")
    with tempfile.TemporaryDirectory(prefix="moorage-") as folder:
        path = Path(folder, "serving.pem")
        path.touch(mode=0o600)
        path.write_bytes(self_signed("localhost", "127.0.0.1"))
        context.load_cert_chain(path)
    return context


def self_signed(name: str, address: str) -> bytes:
    """A new key and a certificate for it, both PEM."""
    private_key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ipaddress.ip_address(address))])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(private_key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFETIME)
        .add_extension(names, critical=False)
        .sign(private_key, hashes.SHA256())
    )
    key = private_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return key + certificate.public_bytes(serialization.Encoding.PEM)

"""TLS contexts out of a cluster's authority and a client's certificate."""

import ssl
import tempfile
from pathlib import Path

from moorage.errors import InputError
from moorage.kube.access import ClusterAccess
from moorage.kube.credentials import ClientCertificate


def client_context(access: ClusterAccess, certificate: ClientCertificate | None) -> ssl.SSLContext:
    """The context for connections to `access.server`, presenting `certificate` if there is one."""
    if access.insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context = _verifying_context(access)
    context.set_alpn_protocols(["http/1.1"])
    if certificate is not None:
        _present(context, certificate)
    return context


def _verifying_context(access: ClusterAccess) -> ssl.SSLContext:
    authority = access.certificate_authority
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(f"certificate-authority is not a PEM certificate: {error}", where=access.server) from error
    # Go, which issues and checks most clusters' certificates, trusts an intermediate that is named as authority
    # and does not ask for the extensions that OpenSSL's strict mode wants.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _present(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    """OpenSSL's Python face reads certificates from files only: one for a moment, that nobody else may read."""
    with tempfile.TemporaryDirectory(prefix="moorage-") as directory:
        chain, key = Path(directory, "chain.pem"), Path(directory, "key.pem")
        for path, content in ((chain, certificate.certificate), (key, certificate.key)):
            path.touch(mode=0o600)
            path.write_bytes(content)
        try:
            context.load_cert_chain(chain, key)
        except ssl.SSLError as error:
            raise InputError(
                f"the client certificate and key do not load: {error.reason or error}: expected a PEM pair"
            ) from error

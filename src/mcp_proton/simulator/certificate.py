"""The self-signed certificate Bridge makes for itself: CN=127.0.0.1, the loopback address as its only name."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import ssl
import tempfile
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

_LIFETIME = dt.timedelta(days=20 * 365)


@dataclass(frozen=True)
class Certificate:
    """A certificate and its private key, both PEM."""

    pem: str
    key_pem: str

    def server_context(self) -> ssl.SSLContext:
        """A TLS context (1.2 or newer) that serves this certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # The ssl module loads keys from files only.
        handle, path = tempfile.mkstemp(suffix=".pem")
        try:
            os.write(handle, (self.key_pem + self.pem).encode())
            os.close(handle)
            context.load_cert_chain(path)
        finally:
            os.unlink(path)  # noqa: PTH108 - a path string from mkstemp
        return context


def make_certificate() -> Certificate:
    """Make a new certificate in the shape of Bridge's own (RSA-2048, a CA, no DNS name)."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "CH"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Proton AG"),
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "Proton Mail"),
            x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1"),
        ]
    )
    start = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Certificate(
        pem=certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key_pem=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        ).decode(),
    )

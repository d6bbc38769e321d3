"""Certificates of a test: an authority of its own, and whom it vouches for."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates with elliptic keys, made anew for each test."""

    def __init__(self, name: str = "test authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self._made = self._build(self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        usage = x509.KeyUsage(*[False] * 5, True, True, False, False)
        self._made = self._made.add_extension(usage, critical=True)
        self._certificate = self._made.sign(self._key, hashes.SHA256())

    def _build(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )

    def write(self, file: Path) -> Path:
        """Its own certificate: what trusts it reads."""
        file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))
        return file

    def vouch(self, name: str, cert: Path, key: Path) -> None:
        """A certificate for a name, and for 127.0.0.1."""
        made = ec.generate_private_key(ec.SECP256R1())
        alternatives = x509.SubjectAlternativeName(
            [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        )
        signed = (
            self._build(_name(name), made.public_key())
            .add_extension(alternatives, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        cert.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        key.write_bytes(
            made.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        key.chmod(0o600)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

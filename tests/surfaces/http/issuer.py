"""An authorization server as far as a resource server sees it: a key set and introspection, on loopback, in a thread."""

from __future__ import annotations

import base64
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

CLIENT, SECRET = "mcp-proton", "introspection-secret"
SCOPES = "mail mail.read mail.write mail.send other"


class Issuer:
    """Signs tokens and says which are good. `asked` are the paths that were asked for."""

    def __init__(self) -> None:
        self.keys: dict[str, Any] = {
            "RS256": RSAKey.generate_key(2048, {"kid": "rsa"}),
            "ES256": ECKey.generate_key("P-256", {"kid": "ec"}),
            "ES384": ECKey.generate_key("P-384", {"kid": "ec384"}),
            "EdDSA": OKPKey.generate_key("Ed25519", {"kid": "ed"}),
        }
        self.published = list(self.keys)
        self.opaque: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.down = False
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked.append(self.path)
                self._answer(KeySet([issuer.keys[name] for name in issuer.published]).as_dict(private=False))

            def do_POST(self) -> None:
                issuer.asked.append(self.path)
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                login = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
                good = self.headers["Authorization"] == f"Basic {login}"
                self._answer(issuer.opaque.get(form["token"][0], {"active": False}) if good else {"active": False})

            def _answer(self, body: dict[str, Any]) -> None:
                self.send_response(500 if issuer.down else 200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def claims(self, audience: str, **changed: Any) -> dict[str, Any]:
        until = int(time.time()) + 600
        told = {"iss": self.url, "aud": audience, "sub": "alice", "exp": until, "scope": SCOPES}
        return {name: value for name, value in {**told, **changed}.items() if value is not None}

    def token(
        self, audience: str, algorithm: str = "RS256", header: dict[str, Any] | None = None, **changed: Any
    ) -> str:
        key = self.keys[algorithm]
        head = {"alg": algorithm, "kid": key.kid, "typ": "at+jwt", **(header or {})}
        return jwt.encode(head, self.claims(audience, **changed), key, algorithms=[algorithm])

    def forged_by_public_key(self, audience: str) -> str:
        """A token signed with HMAC, the published RSA key as its secret: the oldest trick."""
        signed = self._unsigned("HS256", audience)
        secret = self.keys["RS256"].as_pem(private=False)
        return f"{signed}.{_part(hmac.digest(secret, signed.encode(), 'sha256'))}"

    def unsigned(self, audience: str) -> str:
        return self._unsigned("none", audience) + "."

    def _unsigned(self, algorithm: str, audience: str) -> str:
        head = {"alg": algorithm, "kid": "rsa", "typ": "at+jwt"}
        return f"{_part(json.dumps(head).encode())}.{_part(json.dumps(self.claims(audience)).encode())}"


def _part(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")

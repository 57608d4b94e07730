"""A provider of identities on the loopback: it approves whoever comes, and its tokens can be spoilt."""

import base64
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "discreet", "secret-of-the-client"


class IdentityProvider:
    """A provider.

    Attributes:
        issuer: its address.
        groups: of the person who signs in.
        spoil: changes the claims of a token.
        key: signs tokens; a forger's if it was changed.
    """

    def __init__(self, port: int) -> None:
        self.issuer, self.groups = f"http://127.0.0.1:{port}", ["radiology"]
        self.key = self._own = RSAKey.generate_key(2048, {"kid": "one"})
        self.spoil: Callable[[dict[str, Any]], object] = lambda claims: None
        self._codes: dict[str, dict[str, str]] = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._describe),
                Route("/authorize", self._authorize),
                Route("/token", self._token, methods=["POST"]),
                Route("/jwks", self._jwks),
            ]
        )

    async def _describe(self, request: Request) -> Response:
        paths = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}
        return JSONResponse({"issuer": self.issuer} | {k: f"{self.issuer}/{v}" for k, v in paths.items()})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        code = f"code{len(self._codes)}"
        self._codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}", 302)

    async def _token(self, request: Request) -> Response:
        given = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        asked = self._codes.pop(given.get("code", ""), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or request.headers.get("authorization") != f"Basic {basic}"
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != given["redirect_uri"]
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims: dict[str, Any] = {"iss": self.issuer, "aud": CLIENT, "sub": "ada", "exp": now + 60, "iat": now}
        claims |= {"nonce": asked["nonce"], "groups": self.groups}
        self.spoil(claims)
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        return JSONResponse({"access_token": "unused", "token_type": "Bearer", "id_token": token})

    async def _jwks(self, request: Request) -> Response:
        return JSONResponse(KeySet([self._own]).as_dict(private=False))


@contextmanager
def providing(port: int) -> Iterator[IdentityProvider]:
    """Run a provider."""
    provider = IdentityProvider(port)
    server = uvicorn.Server(uvicorn.Config(provider.app, host="127.0.0.1", port=port, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield provider
    server.should_exit = True
    thread.join()

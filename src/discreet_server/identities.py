"""Who a browser is: sessions and cookies, and sign-in at a provider of identities by OpenID Connect (Authlib).

Sessions, and sign-ins that have begun, are values under random secrets, in memory, each for a while. A restart ends
them all, and the end of a session does too: a copy of its cookie is worth nothing afterwards.
"""

import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from discreet.errors import DiscreetError, MissingPart, UsageError
from discreet_server.accounts.keys import digest_of
from discreet_server.config import OidcConfig

MOST = 10_000
Clock = Callable[[], float]
T = TypeVar("T")


def is_secure(request: HTTPConnection) -> bool:
    """Return whether the browser came by TLS, to this server or to a proxy in front of it."""
    # A client that forges the header harms its own cookie alone.
    return request.scope["scheme"] == "https" or request.headers.get("x-forwarded-proto", "") == "https"


def address(request: HTTPConnection) -> str:
    """Return the address of the server, as the browser knows it."""
    return f"{'https' if is_secure(request) else 'http'}://{request.headers.get('host', '127.0.0.1:8000')}"


def cookie_of(request: HTTPConnection, name: str) -> str:
    """Return the value of a cookie of a browser; "" if it has none."""
    return request.cookies.get(_cookie_name(name, is_secure(request)), "")


def _cookie_name(name: str, secure: bool) -> str:
    """Return the name of a cookie: by TLS one that no other host and no page without TLS can set."""
    return f"__Host-{name}" if secure else name


def set_cookie(
    response: Response,
    request: HTTPConnection,
    name: str,
    value: str,
    *,
    age: int | None = None,
    sent: Literal["strict", "lax"] = "strict",
) -> None:
    """Put a value into a cookie that no script reads; without one, remove the cookie.

    Args:
        response: to the browser.
        request: of the browser.
        name: of the cookie.
        value: its value.
        age: seconds for which it lasts; as long as the browser's session if None.
        sent: "strict" if no other site causes it to be sent, "lax" if one may bring the browser back with it.
    """
    secure, lasts = is_secure(request), age if value else 0
    whole = _cookie_name(name, secure)
    response.set_cookie(whole, value, lasts, path="/", httponly=True, samesite=sent, secure=secure)


class Remembered(Generic[T]):
    """Values under secrets, of which the hash alone is kept; a bounded number of them: the oldest go first.

    Args:
        seconds: for which a value is remembered.
        clock: the time, in seconds.
        most: so many values.
        idle: seconds without a look at a value after which it is forgotten.
    """

    def __init__(
        self, seconds: float, clock: Clock = time.monotonic, most: int = MOST, *, idle: float = math.inf
    ) -> None:
        self._seconds, self._clock, self._most, self._idle = seconds, clock, most, idle
        self._values: OrderedDict[str, tuple[float, float, T]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, value: T) -> str:
        """Keep a value under a new secret. Return the secret."""
        secret = secrets.token_urlsafe(32)
        self.keep(secret, value)
        return secret

    def keep(self, secret: str, value: T) -> None:
        """Keep a value."""
        now = self._clock()
        with self._lock:
            self._values[digest_of(secret)] = (now + self._seconds, now, value)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def find(self, secret: str) -> T | None:
        """Return a value, whose idle time begins anew; None if it is unknown or too old."""
        name, now = digest_of(secret), self._clock()
        with self._lock:
            end, seen, value = self._values.get(name, (-math.inf, now, None))
            if value is None or now >= end or now - seen > self._idle:
                self._values.pop(name, None)
                return None
            self._values[name] = (end, now, value)
            return value

    def take(self, secret: str) -> T | None:
        """Return a value, and forget it."""
        value = self.find(secret)
        with self._lock:
            self._values.pop(digest_of(secret), None)
        return value


# --- sign-in at a provider: authorization code with PKCE -------------------------------------------------------------


ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""With which a token may be signed: by a key that the provider alone has."""
WAITS = 600
"""Seconds that a sign-in may take."""
_PATIENCE = 10.0
_LEEWAY = 60
"""Seconds by which two clocks may differ."""


class SignInFailed(DiscreetError):  # noqa: N818 - reads better without the suffix
    """A sign-in that the provider did not confirm. The text never holds what came from there."""


class Begun(NamedTuple):
    """A sign-in that has begun.

    Attributes:
        nonce: what comes back in the token.
        verifier: proves that the code is exchanged by the one who began.
        back: where the browser comes back to.
    """

    nonce: str
    verifier: str
    back: str


@dataclass(frozen=True)
class Person:
    """A person whom the provider has named.

    Attributes:
        subject: the provider's name for the person.
        values: the values of the claim.
    """

    subject: str
    values: list[str]


class SignIns:
    """Sign-ins at a provider of identities that have begun, each in one browser.

    Args:
        config: the provider.
        path: where the browser comes back to.
        cookie: the name of the cookie of a browser that went there.
    """

    def __init__(self, config: OidcConfig, path: str, cookie: str) -> None:
        """For a provider that serve.toml names.

        Raises:
            MissingPart: if Authlib is not installed.
            UsageError: if the file with the secret cannot be read.
        """
        self._config, self._path, self._cookie, self._secret = config, path, cookie, _read_secret(config)
        self._begun = Remembered[Begun](WAITS)
        try:
            import authlib.integrations.httpx_client  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            raise MissingPart("Sign-in by OpenID Connect needs Authlib", "oidc") from None

    async def begin(self, request: HTTPConnection) -> Response:
        """Return a redirection of the browser to the provider.

        Raises:
            SignInFailed: if the provider cannot be reached.
        """
        about, back = await self._describe(), f"{address(request)}{self._path}"
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        async with self._client(back) as client:
            place = about["authorization_endpoint"]
            url, _ = client.create_authorization_url(place, state=state, nonce=nonce, code_verifier=verifier)
        self._begun.keep(state, Begun(nonce, verifier, back))
        response = RedirectResponse(str(url), 303)
        # "lax": the browser comes back from another site, and must have it then.
        set_cookie(response, request, self._cookie, state, age=WAITS, sent="lax")
        return response

    async def finish(self, request: HTTPConnection) -> tuple[Person, str | None]:
        """Return the person with whom the browser came back, and the name of that person's key; None if there is none.

        Raises:
            SignInFailed: if it is another browser, or the provider does not confirm it, or its token does not hold.
        """
        state, code = (request.query_params.get(name, "") for name in ("state", "code"))
        own = secrets.compare_digest(state.encode(), cookie_of(request, self._cookie).encode())
        begun = self._begun.take(state) if own and state else None
        if begun is None or not code:
            raise SignInFailed("The browser has begun no such sign-in.")
        about = await self._describe()
        try:
            async with self._client(begun.back) as client:
                token = await client.fetch_token(
                    about["token_endpoint"], grant_type="authorization_code", code=code, code_verifier=begun.verifier
                )
                keys = (await client.request("GET", about["jwks_uri"], withhold_token=True)).json()
            person = _person(token["id_token"], keys, begun.nonce, self._config)
        except Exception as error:  # of the network, of the provider or of a forger: its text may hold anything
            raise SignInFailed(f"The provider did not confirm the sign-in ({type(error).__name__}).") from None
        return person, self._config.key_of(person.values)

    def forget(self, response: Response, request: HTTPConnection) -> None:
        """Remove the cookie of a browser that came back."""
        set_cookie(response, request, self._cookie, "")

    async def _describe(self) -> dict[str, Any]:
        """Return what the provider says of itself."""
        import httpx2

        issuer = self._config.issuer
        try:
            async with httpx2.AsyncClient(timeout=_PATIENCE) as client:
                found = (await client.get(f"{issuer.rstrip('/')}/.well-known/openid-configuration")).json()
            if found["issuer"] != issuer:
                raise ValueError
            return {name: str(found[name]) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        except Exception as error:  # as above
            raise SignInFailed(f"The provider cannot be reached ({type(error).__name__}).") from None

    def _client(self, back: str) -> Any:
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        return AsyncOAuth2Client(
            client_id=self._config.client_id,
            client_secret=self._secret,
            token_endpoint_auth_method="client_secret_basic" if self._secret else "none",
            code_challenge_method="S256",
            scope="openid profile email",
            redirect_uri=back,
            timeout=_PATIENCE,
        )


def _read_secret(config: OidcConfig) -> str | None:
    file = config.secret_file
    try:
        return Path(file).read_text(encoding="utf-8").strip() if file else None
    except (OSError, ValueError) as error:
        user = "front" if config.table == "[oidc]" else "desk"
        raise UsageError(
            f"The secret_file of {config.table} cannot be read ({type(error).__name__}). Let the user of the {user} "
            f"read it: {file}"
        ) from None


def _person(token: str, keys: Any, nonce: str, config: OidcConfig) -> Person:
    """Return the person of a token whose signature and claims hold."""
    from joserfc import jwt
    from joserfc.jwk import KeySet

    claims = jwt.decode(token, KeySet.import_key_set(keys), algorithms=ALGORITHMS).claims
    needed: dict[str, Any] = {
        "iss": {"essential": True, "value": config.issuer},
        "aud": {"essential": True, "value": config.client_id},
        "nonce": {"essential": True, "value": nonce},
        "exp": {"essential": True},
        "sub": {"essential": True},
    }
    jwt.JWTClaimsRegistry(leeway=_LEEWAY, **needed).validate(claims)
    if isinstance(claims["aud"], list) and len(claims["aud"]) > 1 and claims.get("azp") != config.client_id:
        raise ValueError
    groups = claims.get(config.claim, [])
    values = [groups] if isinstance(groups, str) else [one for one in groups if isinstance(one, str)]
    return Person(str(claims["sub"])[:200], values)

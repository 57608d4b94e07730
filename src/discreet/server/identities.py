"""Sign-in at a provider of identities: OpenID Connect, authorization code with PKCE, by Authlib."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, MissingPart, UsageError
from discreet.server.oidc_config import OidcConfig
from discreet.server.sessions import Remembered

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""With which a token may be signed: by a key that the provider alone has."""
WAITS = 600
"""Seconds that a sign-in may take."""
_PATIENCE = 10.0
_LEEWAY = 60
"""Seconds by which two clocks may differ."""


class SignInFailed(DiscreetError):  # noqa: N818 - reads better without the suffix
    """A sign-in that the provider did not confirm. The text never holds what came from there."""


@dataclass(frozen=True)
class Begun:
    """A sign-in that has begun.

    Attributes:
        url: of the provider's page.
        state: what comes back with the browser.
        nonce: what comes back in the token.
        verifier: proves that the code is exchanged by the one who began.
        back: where the browser comes back to.
    """

    url: str
    state: str
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
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


class Provider:
    """A provider of identities."""

    def __init__(self, config: OidcConfig) -> None:
        """For a provider that serve.toml names.

        Raises:
            MissingPart: if Authlib is not installed.
            UsageError: if the file with the secret cannot be read.
        """
        self._config, self._secret = config, _read_secret(config)
        try:
            import authlib.integrations.httpx_client  # type: ignore[import-untyped]  # noqa: F401
        except ImportError:
            raise MissingPart("Sign-in by OpenID Connect needs Authlib", "oidc") from None

    async def begin(self, back: str) -> Begun:
        """Return a new sign-in, which ends at the address `back`.

        Raises:
            SignInFailed: if the provider cannot be reached.
        """
        about = await self._describe()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        async with self._client(about, back) as client:
            address = about["authorization_endpoint"]
            url, _ = client.create_authorization_url(address, state=state, nonce=nonce, code_verifier=verifier)
        return Begun(str(url), state, nonce, verifier, back)

    async def finish(self, begun: Begun, code: str) -> Person:
        """Return the person for whom the provider gave a code.

        Raises:
            SignInFailed: if the provider does not confirm it, or its token does not hold.
        """
        about = await self._describe()
        try:
            async with self._client(about, begun.back) as client:
                token = await client.fetch_token(
                    about["token_endpoint"], grant_type="authorization_code", code=code, code_verifier=begun.verifier
                )
                keys = (await client.request("GET", about["jwks_uri"], withhold_token=True)).json()
            return _person(token["id_token"], keys, begun.nonce, self._config)
        except Exception as error:  # of the network, of the provider or of a forger: its text may hold anything
            raise SignInFailed(f"The provider did not confirm the sign-in ({type(error).__name__}).") from None

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

    def _client(self, about: dict[str, Any], back: str) -> Any:
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


class SignIns:
    """Sign-ins at a provider that have begun, each in one browser."""

    def __init__(self, config: OidcConfig) -> None:
        """For a provider that serve.toml names.

        Raises:
            MissingPart, UsageError: if it cannot be used.
        """
        self._provider, self._begun = Provider(config), Remembered[Begun](WAITS)

    async def begin(self, back: str) -> Begun:
        """Return a new sign-in. Its state belongs into a cookie of the browser.

        Raises:
            SignInFailed: if the provider cannot be reached.
        """
        begun = await self._provider.begin(back)
        self._begun.keep(begun.state, begun)
        return begun

    async def finish(self, came: Mapping[str, str], cookie: str) -> Person:
        """Return the person with whom the browser came back.

        Args:
            came: the parameters of the address.
            cookie: the state that the browser has.

        Raises:
            SignInFailed: if it is another browser, or the provider does not confirm it.
        """
        state, code = came.get("state", ""), came.get("code", "")
        own = secrets.compare_digest(state.encode(), cookie.encode())
        begun = self._begun.take(state) if own and state else None
        if begun is None or not code:
            raise SignInFailed("The browser has begun no such sign-in.")
        return await self._provider.finish(begun, code)


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
    found = claims.get(config.claim, [])
    values = [found] if isinstance(found, str) else [one for one in found if isinstance(one, str)]
    return Person(str(claims["sub"])[:200], values)

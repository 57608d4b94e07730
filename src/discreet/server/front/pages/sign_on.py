"""Sign-in to the pages at a provider of identities, which names a person's groups; a group has a key.

The person never sees the key. The browser gets a cookie that stands for its id here, until the evening or a restart.
"""

import asyncio
import secrets

from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import DiscreetError, UsageError
from discreet.server.accounts import Accounts
from discreet.server.audit_log import AuditLog
from discreet.server.front.errors import FrontError
from discreet.server.front.pages.forms import address, is_secure
from discreet.server.front.pages.views import go, page
from discreet.server.front.telling import type_name
from discreet.server.identities import Begun, Person, Provider, SignInFailed
from discreet.server.oidc_config import OidcConfig
from discreet.server.remembered import Remembered

BACK = "/sign-in/callback"
SESSION, BEGUN = "discreet_session", "discreet_sign_on"
"""Cookies: of a person who is signed in, and of one who is on the way."""
LASTS, WAITS = 8 * 3600.0, 600.0
"""Seconds for which a session lasts, and a sign-in may take."""
NO_KEY = "You have no key here. Ask the custodian of the documents for one."
FAILED = "The sign-in was not confirmed. Try again, or sign in with a key."


class SignOn:
    """The sign-in of people by a provider; without one, its pages are not there."""

    def __init__(self, config: OidcConfig | None, accounts: Accounts, log: AuditLog) -> None:
        self._config, self._accounts, self._log = config, accounts, log
        self._provider = Provider(config) if config is not None else None
        self._begun, self._sessions = Remembered[Begun](WAITS), Remembered[str](LASTS)

    @property
    def is_there(self) -> bool:
        """Whether serve.toml names a provider."""
        return self._provider is not None

    def key_id(self, request: Request) -> str | None:
        """Return the id of the key of a person who is signed in; None of any other one."""
        return self._sessions.find(request.cookies.get(SESSION, ""))

    def end(self, request: Request, response: Response) -> None:
        """Sign a person out."""
        self._sessions.take(request.cookies.get(SESSION, ""))
        response.delete_cookie(SESSION, path="/", httponly=True, samesite="strict", secure=is_secure(request))

    async def begin(self, request: Request) -> Response:
        """Send the browser to the provider."""
        if self._provider is None:
            raise FrontError("not_found")
        try:
            begun = await self._provider.begin(f"{address(request)}{BACK}")
        except SignInFailed:
            return self._refuse(request, FAILED, 502)
        self._begun.keep(begun.state, begun)
        found = go(begun.url)
        # "lax": the browser comes back from another site, and must have it then.
        secure = is_secure(request)
        found.set_cookie(BEGUN, begun.state, int(WAITS), path=BACK, httponly=True, samesite="lax", secure=secure)
        return found

    async def finish(self, request: Request) -> Response:
        """Sign in the person with whom the browser comes back."""
        if self._provider is None or self._config is None:
            raise FrontError("not_found")
        state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
        own = secrets.compare_digest(state.encode(), request.cookies.get(BEGUN, "").encode())
        begun = self._begun.take(state) if own and state else None
        if begun is None or not code:
            return self._refuse(request, FAILED, 401)
        try:
            person = await self._provider.finish(begun, code)
        except SignInFailed as error:
            request.state.line["exception"] = type_name(error)
            return self._refuse(request, FAILED, 401)
        return await self._sign_in(request, person, self._config.key_of(person.values))

    async def _sign_in(self, request: Request, person: Person, name: str | None) -> Response:
        try:
            key = await asyncio.to_thread(self._accounts.find_named, name) if name is not None else None
            if key is None:
                return self._refuse(request, NO_KEY, 403)
            request.state.line["key_id"] = key.id
            await asyncio.to_thread(self._log.append, key.id, "sign-in", key.id, subject=person.subject)
        except UsageError:
            return self._refuse(request, NO_KEY, 403)
        except DiscreetError as error:
            request.state.line["exception"] = type_name(error)
            raise FrontError("ledger_unavailable") from None
        session = secrets.token_urlsafe(32)
        self._sessions.keep(session, key.id)
        # A page, and no redirection: the browser came from another site, and would not send the cookie on.
        found = page("signed_in.html", key=None)
        found.set_cookie(SESSION, session, path="/", httponly=True, samesite="strict", secure=is_secure(request))
        found.delete_cookie(BEGUN, path=BACK)
        return found

    def _refuse(self, request: Request, wrong: str, status: int) -> Response:
        request.state.line["code"] = "invalid_api_key"
        return page("sign_in.html", status, key=None, wrong=wrong, sign_on=True)

"""Sign-in to the pages at a provider of identities, which names a person's groups; a group has a key.

The person never sees the key. The browser gets a session, as with a key.
"""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import UsageError
from discreet.server.accounts import Accounts
from discreet.server.audit_log import AuditLog
from discreet.server.front.errors import FrontError
from discreet.server.front.pacing import SIGN_INS, Rates
from discreet.server.front.pages.forms import LASTS, Sessions, SignedIn, address, cookie_of, enter, is_secure
from discreet.server.front.pages.views import go, page
from discreet.server.front.telling import type_name
from discreet.server.identities import WAITS, Person, SignInFailed, SignIns
from discreet.server.oidc_config import OidcConfig
from discreet.server.sessions import set_cookie

BACK = "/sign-in/callback"
BEGUN = "discreet_sign_on"
"""The cookie of a browser that went to the provider."""
NO_KEY = "You have no key here. Ask the custodian of the documents for one."
FAILED = "The sign-in was not confirmed. Try again, or sign in with a key."


class SignOn:
    """The sign-in of people by a provider; without one, its pages are not there."""

    def __init__(self, config: OidcConfig | None, accounts: Accounts, log: AuditLog, rates: Rates) -> None:
        self._config, self._accounts, self._log, self._rates = config, accounts, log, rates
        self._sign_ins, self.sessions = SignIns(config) if config is not None else None, Sessions(LASTS)

    @property
    def is_there(self) -> bool:
        """Whether serve.toml names a provider."""
        return self._sign_ins is not None

    async def begin(self, request: Request) -> Response:
        """Send the browser to the provider."""
        if self._sign_ins is None:
            raise FrontError("not_found")
        try:
            begun = await self._sign_ins.begin(f"{address(request)}{BACK}")
        except SignInFailed:
            return self._refuse(request, FAILED, 502)
        found = go(begun.url)
        # "lax": the browser comes back from another site, and must have it then.
        set_cookie(found, BEGUN, begun.state, secure=is_secure(request), age=WAITS, sent="lax")
        return found

    async def finish(self, request: Request) -> Response:
        """Sign in the person with whom the browser comes back."""
        if self._sign_ins is None or self._config is None:
            raise FrontError("not_found")
        try:
            person = await self._sign_ins.finish(request.query_params, cookie_of(request, BEGUN))
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
            self._rates.count(f"sign-in {key.id} {person.subject}", SIGN_INS)
            await asyncio.to_thread(self._log.append, key.id, "sign-in", key.id, subject=person.subject)
        except UsageError:
            return self._refuse(request, NO_KEY, 403)
        # A page, and no redirection: the browser came from another site, and would not send the cookie on.
        found = page("signed_in.html", key=None)
        enter(found, request, self.sessions, SignedIn(key.id))
        set_cookie(found, BEGUN, "", secure=is_secure(request))
        return found

    def _refuse(self, request: Request, wrong: str, status: int) -> Response:
        request.state.line["code"] = "invalid_api_key"
        return page("sign_in.html", status, key=None, wrong=wrong, sign_on=True)

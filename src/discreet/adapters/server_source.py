"""A server as a source of answers, by HTTP with the standard library: one route, no retry, no redirect, no proxy."""

import json
import os
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from discreet.adapters.source import Reopened, Reply, check_epsilon, is_number, refusal_of, request_body
from discreet.errors import UsageError

KEY = "DISCREET_KEY"
"""The environment variable of the key, if none is given."""
_MOST = 4 * 1024 * 1024
"""Bytes: the longest reply that is read."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_UNREACHABLE = (
    "The server did not reply. If it has the question, it is answered and paid: ask it again within ten minutes, and "
    "nothing is paid a second time. If it never replies, check the address, and whether the server runs."
)
_NO_ADDRESS = (
    "The url is no address of a server, or it holds more than that, such as a password. "
    "Expected: http://127.0.0.1:8000, or https://HOST."
)
_STRANGE = "The reply is not that of a discreet server. Check the address."


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: the key would be sent to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Return no request."""


class ServerSource(Reopened):
    """A server of vaults.

    Args:
        url: its address, such as "https://answers.example.org", with or without "/v1".
        key: the analyst's key; that of the environment variable DISCREET_KEY if empty.
        model: "VAULT" or "VAULT:PRESET"; may be left out if the key has one vault.
        epsilon: the most that a question may cost; the model's own price if None.
        timeout: seconds to wait for a reply.
        insecure: whether the key may cross a network in plain text.

    Raises:
        UsageError: if the address or the key is missing, or if an argument is wrong.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        model: str = "",
        epsilon: float | None = None,
        timeout: float = 600.0,
        insecure: bool = False,
    ) -> None:
        self._base = _base(url, insecure=insecure)
        self._key = key or os.environ.get(KEY, "")
        if not (self._key and self._key.isascii() and self._key.isprintable()):
            raise UsageError(f"The key is missing, or is no key. Set {KEY}, or name one: ServerSource(url, key).")
        check_epsilon(epsilon)
        if not is_number(timeout, 1e-3, 1e6):
            raise UsageError(f"timeout is {timeout!r}. Expected: a number of seconds above 0, such as 600.")
        self._model, self._epsilon, self._timeout, self._insecure = model, epsilon, timeout, insecure
        # No proxy of the environment: `http_proxy` would send the key to another machine in plain text.
        self._opener = build_opener(ProxyHandler({}), _NoRedirects())

    def ask(self, question: str, choices: Sequence[str] = ()) -> Reply:
        """Ask one question, and pay for it from the key's budget; see `AnswerSource`."""

        def read(found: Any) -> Reply:
            return Reply.of_answer(str(found["choices"][0]["message"]["content"]), found["usage"]["discreet"])

        return self._send("chat/completions", question, choices, read)

    def estimate(self, question: str, choices: Sequence[str] = ()) -> Reply:
        """Tell how a question is understood and what it may cost; see `AnswerSource`."""
        return self._send("estimate", question, choices, Reply.of_estimate)

    def _send(self, route: str, question: str, choices: Sequence[str], read: Callable[[Any], Reply]) -> Reply:
        """Send a question, and return its reply as `read` makes it of the server's."""
        try:
            if not self._model:
                self._model = self._only_vault()
            return read(self._request(route, request_body(self._model, question, choices, self._epsilon)))
        except _RefusedError as refused:
            return refused.reply
        except UsageError as error:
            return Reply.of_refusal(str(error), "invalid_request", epsilon=0.0)
        except (LookupError, TypeError, AttributeError, ValueError):
            return Reply.of_refusal(_STRANGE, "strange_reply")

    def describe(self) -> dict[str, Any]:
        """Return the arguments of `open_source`, without the key; see `AnswerSource`."""
        options = {"epsilon": self._epsilon, "timeout": self._timeout, "insecure": self._insecure}
        return {"where": self._base, "model": self._model, **options}

    def _only_vault(self) -> str:
        """Return the one vault of the key."""
        vaults = sorted({str(model["id"]).partition(":")[0] for model in self._request("models")["data"]})
        if len(vaults) == 1:
            return vaults[0]
        hint = f"The key has {len(vaults)} vaults: {', '.join(vaults)}. Name one as the model. Nothing was paid."
        raise _RefusedError(Reply.of_refusal(hint, "invalid_request", epsilon=0.0))

    def _request(self, route: str, body: bytes | None = None) -> Any:
        """Return the JSON of a reply.

        Raises:
            _RefusedError: if the server refuses, or does not reply.
        """
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        request = Request(f"{self._base}/v1/{route}", body, headers)
        try:
            status, content = self._exchange(request)
        except (OSError, HTTPException):
            raise _RefusedError(Reply.of_refusal(_UNREACHABLE, "unreachable")) from None
        if status != HTTPStatus.OK:
            raise _RefusedError(_refusal(status, content))
        try:
            return json.loads(content)
        except ValueError:
            raise _RefusedError(Reply.of_refusal(_STRANGE, "strange_reply")) from None

    def _exchange(self, request: Request) -> tuple[int, bytes]:
        """Send a request. Return the status and the body of the reply."""
        try:
            with self._opener.open(request, timeout=self._timeout) as reply:
                return int(reply.status), reply.read(_MOST)
        except HTTPError as error:
            with error:
                return error.code, error.read(_MOST)


class _RefusedError(Exception):
    """A reply that is no answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.code)
        self.reply = reply


def _refusal(status: int, content: bytes) -> Reply:
    """Return the reply for the body of an error: OpenAI's envelope, with numbers."""
    try:
        body = json.loads(content)
        # After a payment, a status is 500 (docs/serve.md), unless the budget of the vault ended in mid-answer.
        ended = body["error"]["code"] == "vault_budget_exhausted"
        return refusal_of(body, unpaid=status == HTTPStatus.SERVICE_UNAVAILABLE or (status < 500 and not ended))
    except (ValueError, LookupError, TypeError, AttributeError):
        return Reply.of_refusal(_STRANGE, "strange_reply")


def _base(url: str, *, insecure: bool) -> str:
    """Return an address without "/v1".

    Raises:
        UsageError: if it is no address of HTTP, or if a network would see the key.
    """
    parts = _split(url)
    if parts is None or "@" in parts.netloc or "?" in url or "#" in url:
        raise UsageError(_NO_ADDRESS)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not insecure:
        raise UsageError(
            f"The key and the answers would cross the network to {parts.hostname} in plain text. Use https://, or "
            "insecure=True within a network of your own."
        )
    return url.rstrip("/").removesuffix("/v1").rstrip("/")


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address of HTTP; None if it is none. An error would repeat it, with a password in it."""
    try:
        parts = urlsplit(url)
        return parts if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 else None
    except ValueError:
        return None

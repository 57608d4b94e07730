"""Every route of the analysts' listener, with who may call it. What is not in this table is not served."""

from dataclasses import dataclass
from typing import Literal

Who = Literal["all", "analyst", "page"]


@dataclass(frozen=True)
class Route:
    """A route.

    Attributes:
        method: the HTTP method.
        path: the path; "{name}" stands for one segment.
        who: "all", "analyst": a caller with a valid key, or "page": a browser, whose key is in a cookie.
    """

    method: str
    path: str
    who: Who

    def matches(self, path: str) -> bool:
        """Return whether a path is one of this route."""
        own, other = self.path.split("/"), path.split("/")
        return len(own) == len(other) and all(
            (name.startswith("{") and bool(given)) or name == given for name, given in zip(own, other, strict=True)
        )


ROUTES = (
    Route("POST", "/v1/chat/completions", "analyst"),
    Route("GET", "/v1/models", "analyst"),
    Route("GET", "/v1/models/{model}", "analyst"),
    Route("POST", "/v1/estimate", "analyst"),
    Route("GET", "/v1/budget", "analyst"),
    Route("GET", "/v1/receipts", "analyst"),
    Route("GET", "/v1/receipts/{question_id}", "analyst"),
    Route("GET", "/v1/budget/requests", "analyst"),
    Route("POST", "/v1/budget/requests", "analyst"),
    Route("POST", "/mcp", "analyst"),
    Route("GET", "/openapi.json", "analyst"),
    Route("GET", "/health/live", "all"),
    Route("GET", "/health/ready", "all"),
    Route("GET", "/", "page"),
    Route("POST", "/price", "page"),
    Route("POST", "/ask", "page"),
    Route("GET", "/history", "page"),
    Route("GET", "/budget", "page"),
    Route("POST", "/budget", "page"),
    Route("GET", "/connect", "page"),
    Route("GET", "/sign-in", "page"),
    Route("POST", "/sign-in", "page"),
    Route("GET", "/sign-in/provider", "page"),
    Route("GET", "/sign-in/callback", "page"),
    Route("POST", "/sign-out", "page"),
    Route("GET", "/style.css", "page"),
    Route("GET", "/icon.svg", "page"),
)
"""The table. A test compares it with the routes of the app."""


def find_route(method: str, path: str) -> tuple[Route | None, tuple[str, ...]]:
    """Return the route of a request, or none, and the methods that its path allows."""
    own = [route for route in ROUTES if route.matches(path)]
    found = next((route for route in own if route.method == method), None)
    return found, tuple(sorted(route.method for route in own))

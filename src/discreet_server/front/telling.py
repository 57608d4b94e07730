"""What the front tells of its requests: a line for each, and counts. It is public, and nothing that a client wrote."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

LOGGER = logging.getLogger("discreet_server.front")

FIELDS = tuple(
    "time route status code request_id question_id key_id vault model algorithm stopped "
    "epsilon delta quanta waiting replayed exception".split()
)
"""Every field that a line may have."""


def write_line(found: Mapping[str, Any]) -> None:
    """Write a line with the fields of `found` that are on the list."""
    LOGGER.info(_written({name: found.get(name) for name in FIELDS[1:]}))


def _written(found: Mapping[str, Any]) -> str:
    """Return a line with the time and the fields that are there."""
    line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds")} | dict(found)
    return json.dumps({name: one for name, one in line.items() if one is not None}, separators=(",", ":"))


def note_failure(what: str, error: BaseException | None, question_id: str) -> None:
    """Write a line about a failure behind a reply: its type and the question's id alone."""
    kind = type(error).__name__ if error else None
    LOGGER.warning(_written({"failed": what, "question_id": question_id, "exception": kind}))


_QUANTA = (1, 2, 3, 4, 6, 8, 12, 16, 32)
_SECONDS = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)


class Metrics:
    """The metrics of one front. The registry has no collector of the process, the platform or the garbage."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._requests = Counter(
            "discreet_requests", "Replies by route and status.", ["route", "status"], registry=self.registry
        )
        self._questions = Counter(
            "discreet_questions", "Questions by model and outcome.", ["model", "outcome"], registry=self.registry
        )
        self._waiting = Gauge("discreet_waiting_questions", "Questions that wait.", registry=self.registry)
        self._quanta = Histogram(
            "discreet_reply_quanta", "Quanta until a reply.", registry=self.registry, buckets=_QUANTA
        )
        self._queued = Histogram(
            "discreet_queue_seconds", "Seconds until a question's turn.", registry=self.registry, buckets=_SECONDS
        )
        self._up = Gauge("discreet_keeper_up", "Whether the keeper can answer: 1 or 0.", registry=self.registry)
        self._left = Gauge(
            "discreet_grant_left_epsilon",
            "What a unit that had part in every answer to a key would have left, by receipts alone.",
            ["vault"],
            registry=self.registry,
        )

    def count_request(self, route: str, status: int) -> None:
        """Count a reply. The route is one of the table, never the path that a client sent."""
        self._requests.labels(route, str(status)).inc()

    def count_question(self, model: str, outcome: str, quanta: int, waiting: int) -> None:
        """Count a question.

        Args:
            model: the model's name in the catalog; "" for one that does not exist.
            outcome: why the answer ended, or the code of the error.
            quanta: after how many quanta the reply leaves.
            waiting: how many questions wait.
        """
        self._questions.labels(model, outcome).inc()
        self._quanta.observe(quanta)
        self._waiting.set(waiting)

    def count_wait(self, seconds: float) -> None:
        """Count a question whose turn came after so many seconds."""
        self._queued.observe(seconds)

    def note_state(self, *, up: bool, left: Mapping[str, float]) -> None:
        """Note whether the keeper can answer, and by vault what is left of the grant."""
        self._up.set(up)
        for vault, epsilon in left.items():
            self._left.labels(vault).set(epsilon)

    def text(self) -> bytes:
        """Return the metrics in the text format."""
        return generate_latest(self.registry)


def metrics_app(metrics: Metrics, look: Callable[[], Awaitable[None]]) -> Starlette:
    """Return an app with GET /metrics alone, for a listener that analysts cannot reach; `look` notes the state."""

    async def show(_: Request) -> PlainTextResponse:
        await look()
        return PlainTextResponse(metrics.text())

    return Starlette(routes=[Route("/metrics", show, methods=["GET"])])

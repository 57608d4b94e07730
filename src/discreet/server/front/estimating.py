"""What a question would cost: from public values, and from what has landed.

The keeper replies beside the question that it answers. The history and the balance of a vault change when an answer is
ready, and how long an answer takes must not show. So the keeper learns which questions are in the air, and nothing of
them is in an estimate. Beside an answer the keeper also replies more slowly. So estimates leave at multiples of a step,
a fraction of the quantum.
"""

import asyncio
from weakref import WeakValueDictionary

from discreet.server.front.catalog import Keeper
from discreet.server.front.errors import KIND_ADVICE, FrontError
from discreet.server.front.keeper_client import KeeperGone
from discreet.server.front.pacing import Pacer
from discreet.server.front.replay import Flights
from discreet.server.wire import Charge, Estimate, Estimated, Question, Refused

STEP = 0.25
"""Seconds, or the quantum if it is less: far above the time of an estimate beside an answer."""
AT_ONCE = 4
"""So many estimates are with the keeper at most, and one of each key. The others wait."""


class Estimator:
    """Asks the keeper what questions would cost."""

    def __init__(self, keeper: Keeper, flights: Flights, pacer: Pacer, at_once: int = AT_ONCE) -> None:
        self._keeper, self._flights, self._pacer = keeper, flights, pacer
        self._all = asyncio.Semaphore(at_once)
        self._of_keys: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def estimate(self, key_id: str, question: Question) -> Estimated:
        """Return what a question would cost at most, and whether its answer is free.

        Raises:
            FrontError: if the keeper refuses it, or is not there.
        """
        begun = self._pacer.arrive()
        try:
            found = await self._ask(key_id, question)
        finally:
            await self._pacer.until_step(begun, STEP)
        if isinstance(found, Refused):
            raise error_of(found)
        return found

    async def _ask(self, key_id: str, question: Question) -> Estimated | Refused:
        own = self._of_keys.setdefault(key_id, asyncio.Semaphore(1))
        async with own, self._all:
            while True:
                air = self._flights.in_the_air(question.vault)
                try:
                    found = await self._keeper.estimate(Estimate(question, air))
                except KeeperGone:
                    raise FrontError("starting") from None
                if set(self._flights.in_the_air(question.vault)) <= set(air):
                    return found  # else it may have something of a question that was sent meanwhile


def error_of(refused: Refused) -> FrontError:
    """Return the error for a refusal of the keeper."""
    return FrontError(
        refused.code,
        reason=KIND_ADVICE.get(refused.kind, ""),
        asked=refused.asked,
        left=refused.left,
        would_fit=refused.would_fit,
        paid=not is_free(refused.paid),
    )


def is_free(charge: Charge) -> bool:
    """Return whether a charge is none."""
    return charge.failure_atto == 0 and not any(charge.loss_nano)

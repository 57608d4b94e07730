"""What the routes of the front share."""

import asyncio
from dataclasses import dataclass

from discreet.errors import DiscreetError
from discreet.server.accounts import Accounts, AccountsError, Key
from discreet.server.caller import PATIENCE, Keeper
from discreet.server.front.asking import Asker
from discreet.server.front.catalog import CatalogCache, Servable
from discreet.server.front.errors import FrontError
from discreet.server.front.pacing import Arrival, Pacer
from discreet.server.front.replay import Boarding
from discreet.server.front.replies import KeyNumbers
from discreet.server.front.telling import Metrics
from discreet.server.wire import Readied, Ready


@dataclass(frozen=True)
class Services:
    """What the routes of the front share.

    Attributes:
        keeper: the other side of the wall.
        accounts: keys and meters.
        catalog: what is served.
        asker: asks questions.
        pacer: when replies leave.
        metrics: what is counted.
    """

    keeper: Keeper
    accounts: Accounts
    catalog: CatalogCache
    asker: Asker
    pacer: Pacer
    metrics: Metrics

    async def until_due(self, arrival: Arrival, boarding: Boarding | None) -> int:
        """Wait until a reply may leave; return after how many quanta that is.

        It leaves with its flight, which has landed. Without a flight nothing private was read, and it leaves at once.
        """
        quanta = boarding.flight.quanta if boarding is not None else None
        return await self.pacer.until_due(arrival) if quanta is None else quanta

    async def numbers(self, key: Key, model: Servable) -> KeyNumbers:
        """Return what a key may still cause, and how many more questions of a model that allows.

        Raises:
            FrontError: if the accounts cannot be read. A question was answered before: it is kept for a replay.
        """
        try:
            return await asyncio.to_thread(self._numbers, key, model)
        except AccountsError:
            raise FrontError("ledger_unavailable", paid=True) from None

    def _numbers(self, key: Key, model: Servable) -> KeyNumbers:
        meter = self.accounts.odometer(key.id)
        more = meter.more(model.model.most, model.vault.name)
        return KeyNumbers(granted=meter.granted, spent=meter.spent, left=meter.left, more=more)


async def is_ready(keeper: Keeper) -> bool:
    """Return whether the keeper has loaded its model and can write its ledger."""
    try:
        found = await keeper.call(Ready(), PATIENCE)
    except DiscreetError:
        return False
    return isinstance(found, Readied) and found.loaded and found.ledger_writable

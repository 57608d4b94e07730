"""What the keeper serves, read at the start and every minute after: public values alone."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from discreet.errors import DiscreetError
from discreet_server.accounts import Key
from discreet_server.front.errors import FrontError
from discreet_server.sockets import REPLY_PATIENCE, Keeper
from discreet_server.wire import Catalog, Catalogued, Lane, ModelCard, VaultCard

REFRESH = 60.0
RETRY = 0.5
"""Seconds between readings, and until the first one that succeeds."""


@dataclass(frozen=True)
class Servable:
    """A model with its vault.

    Attributes:
        name: "VAULT" or "VAULT:PRESET".
        vault: the card of the vault.
        model: the card of the model.
    """

    name: str
    vault: VaultCard
    model: ModelCard


class CatalogCache:
    """The last catalog that the keeper sent."""

    def __init__(self, keeper: Keeper, on_change: Callable[[dict[Lane, float]], None] = lambda _: None) -> None:
        """For a keeper.

        Args:
            keeper: where the catalog comes from.
            on_change: called with the longest answer of each lane in any vault, whenever a catalog has come.
        """
        self._keeper, self._on_change = keeper, on_change
        self._models: dict[str, Servable] | None = None

    @property
    def loaded(self) -> bool:
        """Whether a catalog has come."""
        return self._models is not None

    async def read(self) -> bool:
        """Read the catalog; keep the old one if the keeper does not reply. Return whether it replied."""
        try:
            catalog = await self._keeper.call(Catalog(), REPLY_PATIENCE)
        except DiscreetError:
            return False
        if not isinstance(catalog, Catalogued):
            return False
        self._models = {name: Servable(name, vault, model) for vault in catalog.vaults for name, model in _named(vault)}
        self._on_change(catalog.longest())
        return True

    async def keep_reading(self) -> None:
        """Read the catalog again and again, until the task is cancelled."""
        while True:
            await asyncio.sleep(REFRESH if await self.read() else RETRY)

    def all(self, key: Key) -> list[Servable]:
        """Return the models that a key may ask.

        Raises:
            FrontError: if no catalog has come yet.
        """
        return [one for one in self._known().values() if one.vault.name in key.vaults and key.allows(one.name)]

    def find(self, key: Key, name: str) -> Servable:
        """Return a model that a key may ask.

        Raises:
            FrontError: if there is no such model, the key may not see its vault, or may not ask it.
        """
        model = self._known().get(name)
        if model is None or model.vault.name not in key.vaults:
            raise FrontError("model_not_found", param="model")
        if not key.allows(name):
            raise FrontError("not_allowed", param="model")
        return model

    def _known(self) -> dict[str, Servable]:
        if self._models is None:
            raise FrontError("starting")
        return self._models


def _named(vault: VaultCard) -> list[tuple[str, ModelCard]]:
    return [(f"{vault.name}:{model.name}" if model.name else vault.name, model) for model in vault.models]

"""An account around a filter that a test made, so that the test sees what was paid."""

from typing import TypeVar

from discreet.privacy.account import PayingUnits, pays_nothing
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import NotPrivateFilter, PrivacyFilter, Receipt
from discreet.privacy.noise import Noise
from discreet.privacy.partition import Member
from discreet.privacy.private import Private

S = TypeVar("S")


class FilterAccount:
    """Every unit pays through one filter; nothing is paid through one of a baseline."""

    def __init__(self, privacy: PrivacyFilter) -> None:
        self._privacy = privacy

    @property
    def budget(self) -> Budget:
        return self._privacy.ceiling

    @property
    def noise(self) -> Noise:
        return self._privacy.noise

    def admit(
        self, members: Private[Member[S]], most: Spending, *, disjoint: bool = False
    ) -> tuple[Private[Member[S]], PrivacyFilter]:
        raise pays_nothing()

    def charge_every_unit(self, most: Spending) -> PayingUnits:
        return PayingUnits(self._privacy)

    def unpaid(self) -> PrivacyFilter:
        assert isinstance(self._privacy, NotPrivateFilter)
        return self._privacy

    def settle(self) -> None:
        pass

    def receipt(self) -> Receipt:
        return self._privacy.receipt()


def account_over(privacy: PrivacyFilter) -> FilterAccount:
    return FilterAccount(privacy)

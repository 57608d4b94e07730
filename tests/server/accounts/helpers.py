"""Accounts with a clock that tests move, and charges of pure epsilon."""

from dataclasses import dataclass, field
from pathlib import Path

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Cost, Pure, ZeroConcentrated
from discreet_server.accounts import Accounts, Key, Limits
from discreet_server.accounts.grants import VaultGrant
from discreet_server.wire import UnitCharge

GRANT = Budget(20.0, 1e-5, 5e-6)
VAULT = "hospital"
DAY = 86_400.0


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bank:
    """Accounts of one vault, and a count from which ids are made."""

    path: Path
    clock: Clock = field(default_factory=Clock)
    accounts: Accounts = field(init=False)
    count: int = 0

    def __post_init__(self) -> None:
        self.accounts = Accounts(self.path, clock=self.clock)
        self.accounts.grant(VAULT, GRANT)

    def key(self, epsilon: float = 10.0, *, reserved: bool = False, **limits: object) -> Key:
        self.count += 1
        made, _ = self.accounts.issue(
            f"key {self.count}",
            [VAULT],
            Limits(epsilon, **limits),  # type: ignore[arg-type]
            reserved=reserved,
        )
        return made

    def ask(
        self, key: Key, charge: UnitCharge, fingerprint: str = "", idempotency: str | None = None, *, anew: bool = False
    ) -> object:
        """Reserve a question with an id of its own; of another content than all before, unless it is given."""
        self.count += 1
        return self.accounts.reserve(
            key.id,
            f"{self.count:032x}",
            charge,
            vault=VAULT,
            model=VAULT,
            fingerprint=fingerprint or f"content {self.count}",
            idempotency=idempotency,
            anew=anew,
        )

    @property
    def last(self) -> str:
        """The id of the question asked last."""
        return f"{self.count:032x}"


def unsettled(accounts: Accounts) -> dict[str, Spending]:
    """The questions that are not settled, with what their keys are charged for them."""
    return {one.id: one.most for one in accounts.questions() if one.most is not None}


def grant_of(accounts: Accounts, vault: str = VAULT) -> VaultGrant:
    with accounts.reading() as found:
        return found.state.grant(vault)


def charge_of(cost: Cost) -> UnitCharge:
    return UnitCharge.of(Spending.of(cost), GRANT)


def pure(epsilon: float, delta: float = 0.0) -> UnitCharge:
    return charge_of(Pure(epsilon, delta))


def gaussian(rho: float) -> UnitCharge:
    return charge_of(ZeroConcentrated(rho))

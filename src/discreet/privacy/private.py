"""Private values: sealed, transformed share by share, and opened by a mechanism alone.

A *privacy unit* is one individual with all documents that carry its name. Two vaults are neighbours if one unit is
present in one and absent in the other. A `Change` describes the effect on a mechanism's input: how many shares may
differ, and in which way.

A `Private[S]` holds one share for each voter (or document). It has no length, truth value, order, iterator, printable
content or pickle, so no part of it can be read by accident. `unseal` is the only access, and a test searches for its
uses. They are in three modules: the filters use it after payment. Accounts and partitions use it before, to choose who
pays and which documents go together, and return sealed values alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from typing import Generic, NoReturn, TypeVar

from discreet.errors import DiscreetError, PrivateValueError

S = TypeVar("S")
R = TypeVar("R")


class Relation(Enum):
    """The way in which a share may differ between two neighbouring inputs."""

    ADD_REMOVE = "add-remove"
    """The share is present in one input and absent in the other."""
    REPLACE = "replace"
    """The share becomes any other value. Top-k retrieval turns a removal into this, since the next unit moves up."""


@dataclass(frozen=True)
class Change:
    """The effect of one privacy unit on a sealed value: at most `shares` shares differ, by `relation`."""

    shares: int
    relation: Relation

    def __post_init__(self) -> None:
        if self.shares < 1:
            raise ValueError(f"A unit changes at least one share, not {self.shares}.")

    @property
    def moves(self) -> int:
        """How many counts of values move by one, if each share has one value: a replaced share moves two."""
        return self.shares * (2 if self.relation is Relation.REPLACE else 1)

    def __str__(self) -> str:
        return f"{self.relation.value} of {self.shares} share{'s' if self.shares > 1 else ''}"


class Private(Generic[S]):
    """Sealed shares, together with the change that one privacy unit can make to them.

    The number of shares should be public (the number of voters), since a mechanism's time depends on it. For other
    numbers, such as the units above a threshold, docs/privacy-details.md states what the time reveals.
    """

    __slots__ = ("__change", "__shares")

    def __init__(self, shares: Sequence[S], change: Change) -> None:
        self.__shares = tuple(shares)
        self.__change = change

    @property
    def change(self) -> Change:
        """The change that one privacy unit can make to these shares: public."""
        return self.__change

    def map(self, transform: Callable[[S], R]) -> "Private[R]":
        """Transform each share on its own.

        Raises:
            PrivateValueError: if `transform` failed on a share. The message has only the type of the error.
        """
        return self.map_batch(lambda shares: [transform(share) for share in shares])

    def read(self, transform: Callable[[S], R], otherwise: R) -> "Private[R]":
        """Transform each share on its own; a share on which `transform` fails becomes `otherwise`.

        This is for parsing texts: an unusual, long or deeply nested text of one voter must not show as an error.
        """
        return self.map(lambda share: _read(transform, share, otherwise))

    def map_batch(self, transform: Callable[[Sequence[S]], Sequence[R]]) -> "Private[R]":
        """Transform all shares at once, for work that is faster in a batch.

        The result for a share must not depend on the other shares, bit for bit. The sensitivity of all later steps
        relies on it (privacy-spec, part 0).

        Raises:
            PrivateValueError: if `transform` failed, or returned another number of shares.
        """
        results, failure = _run(transform, self.__shares)
        if failure is not None:
            raise PrivateValueError(f"A step on private values {failure}.")
        return Private(results, self.__change)

    def keep(self, test: Callable[[S], bool]) -> "Private[S]":
        """Return the shares that pass a test, which is applied to each share on its own.

        A share on which the test fails is left out: an unusual text of one unit must not show as an error.

        Raises:
            PrivateValueError: if shares may be replaced rather than added or removed. A replaced share could pass in
                one neighbour and fail in the other, and the number of shares would be private.
        """
        kept = self.choose(lambda shares: [(share,) if _passes(test, share) else None for share in shares])
        return kept.map(itemgetter(0))

    def choose(self, transform: Callable[[Sequence[S]], Sequence[R | None]]) -> "Private[R]":
        """Transform all shares at once, as `map_batch`, and leave out those that become None, as `keep`."""
        if self.__change.relation is not Relation.ADD_REMOVE:
            raise PrivateValueError(
                f"Shares can be left out only if a unit's share is added or removed, not by {self.__change}."
            )
        return Private([one for one in self.map_batch(transform).__shares if one is not None], self.__change)

    def __repr__(self) -> str:
        return "Private(sealed)"

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise PrivateValueError("A private value is sealed: only a mechanism that was paid for can open it.")

    __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _refuse
    __reduce__ = __reduce_ex__ = __getstate__ = __copy__ = __deepcopy__ = _refuse


def _read(transform: Callable[[S], R], share: S, otherwise: R) -> R:
    try:
        return transform(share)
    except Exception:
        return otherwise


def _passes(test: Callable[[S], bool], share: S) -> bool:
    try:
        return bool(test(share))
    except Exception:
        return False


def unseal(private: Private[S], work: Callable[[tuple[S, ...]], R]) -> R:
    """Return the result of `work` on the open shares.

    The filters call it for a draw, after the charge is durable. Accounts and partitions call it before, seal the result
    again, and release nothing of it.

    Raises:
        DiscreetError: if `work` raised one; it is passed on unchanged.
        PrivateValueError: if `work` failed otherwise. The message has only the type of the error.

    No frame with open shares is in the traceback of either.
    """
    result, failure = _worked(work, private)
    if failure is not None:
        raise failure
    return result  # type: ignore[return-value]


def _worked(work: Callable[[tuple[S, ...]], R], private: Private[S]) -> tuple[R | None, DiscreetError | None]:
    try:
        return work(private._Private__shares), None  # type: ignore[attr-defined]
    except DiscreetError as error:
        error.__cause__ = error.__context__ = None
        return None, error.with_traceback(None)
    except Exception as error:
        return None, PrivateValueError(
            f"A step on private values failed with {type(error).__name__}; its message is withheld."
        )


def _run(transform: Callable[[Sequence[S]], Sequence[R]], shares: tuple[S, ...]) -> tuple[tuple[R, ...], str | None]:
    # This function returns the failure and does not raise it. So this frame, which holds shares and results, is not in
    # the traceback.
    try:
        results = tuple(transform(shares))
    except Exception as error:
        return (), f"failed with {type(error).__name__}; its message is withheld"
    if len(results) != len(shares):
        return (), "returned another number of shares"
    return results, None

"""Private values: sealed, transformed share by share, opened by a mechanism alone.

A `Private[S]` holds one share a voter (or a document). It has no length, truth value, order, iterator, printable
content or pickle, so that nothing about it can be read by accident. `unseal` is the one door; only the
filters may use it, and a test looks for any other use.
"""

from collections.abc import Callable, Sequence
from typing import Generic, NoReturn, TypeVar

from discreet.errors import DiscreetError, PrivateValueError
from discreet.privacy.change import Change, Relation

S = TypeVar("S")
R = TypeVar("R")


class Private(Generic[S]):
    """Sealed shares, together with what one privacy unit can change in them.

    The number of shares should be public (the number of voters): a mechanism's time follows it. Where it is not, as
    of the units above a threshold, docs/privacy-details.md says what the time tells.
    """

    __slots__ = ("__change", "__shares")

    def __init__(self, shares: Sequence[S], change: Change) -> None:
        self.__shares = tuple(shares)
        self.__change = change

    @property
    def change(self) -> Change:
        """What one privacy unit can do to these shares: public."""
        return self.__change

    def map(self, transform: Callable[[S], R]) -> "Private[R]":
        """Transform every share by itself.

        Raises:
            PrivateValueError: `transform` failed on some share. It names the type of the error and nothing else.
        """
        return self.map_batch(lambda shares: [transform(share) for share in shares])

    def read(self, transform: Callable[[S], R], otherwise: R) -> "Private[R]":
        """Transform every share by itself; one on which `transform` fails becomes `otherwise`.

        For the reading of texts: that one voter's words are strange, long or deep must not show as an error.
        """
        return self.map(lambda share: _read(transform, share, otherwise))

    def map_batch(self, transform: Callable[[Sequence[S]], Sequence[R]]) -> "Private[R]":
        """Transform all shares at once, for work that a batch makes faster.

        `transform` must make of each share what it would make of it beside any other shares, bit for bit: the
        sensitivity of everything that follows rests on it (privacy-spec, part 0).

        Raises:
            PrivateValueError: `transform` failed, or returned another number of shares.
        """
        results, failure = _run(transform, self.__shares)
        if failure is not None:
            raise PrivateValueError(f"A step on private values {failure}.")
        return Private(results, self.__change)

    def keep(self, test: Callable[[S], bool]) -> "Private[S]":
        """The shares that pass a test, each judged by itself.

        Raises:
            PrivateValueError: the test failed on some share; or shares may be replaced, not only come and go: one that
                is left out would then stand against one that is not, and their number would be private.
        """
        if self.__change.relation is not Relation.ADD_REMOVE:
            raise PrivateValueError(
                "Shares are left out only where a unit's share comes or goes, not where it changes."
            )
        passed = self.map(lambda share: (share, bool(test(share)))).__shares
        return Private([share for share, kept in passed if kept], self.__change)

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


def unseal(private: Private[S], work: Callable[[tuple[S, ...]], R]) -> R:
    """What `work` makes of the shares themselves. For the filters alone, after the charge is durable.

    Raises:
        DiscreetError: what `work` refused, as it said it.
        PrivateValueError: `work` failed otherwise. It names the type of the error and nothing else.

    No frame in which the shares lie open is in the traceback of either.
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
    # Returning the failure, rather than raising it here, keeps this frame, which holds the shares and the results,
    # out of the traceback.
    try:
        results = tuple(transform(shares))
    except Exception as error:
        return (), f"failed with {type(error).__name__}; its message is withheld"
    if len(results) != len(shares):
        return (), "returned another number of shares"
    return results, None

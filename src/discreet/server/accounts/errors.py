"""The errors of the accounts. None of them holds a secret, a question or an answer."""

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.config import FORMAT
from discreet.errors import DiscreetError, LedgerError
from discreet.log import CORRUPT


class AccountsError(DiscreetError):
    """A database of accounts that cannot be used. Without it no question is asked."""


class OlderCopy(AccountsError):  # noqa: N818 - reads better without the suffix
    """A database of accounts that lacks changes which were made before: an older copy was put back."""


_DAMAGED = (
    "The database of accounts is damaged. No question is asked. Restore it from a copy, and run: "
    "discreet key accept-copy VAULT"
)


@contextmanager
def explained() -> Iterator[None]:
    """Turn an error of the log into an `AccountsError` that names what to do."""
    try:
        yield
    except LedgerError as error:
        text = str(error)
        raise AccountsError(_DAMAGED if text == CORRUPT else text.replace("ledger", "accounts' log")) from None


def other_format(found: str) -> AccountsError:
    """Return the error of accounts in a format that this version does not read."""
    return AccountsError(
        f"The accounts have {found}; this version of discreet reads format {FORMAT} alone. Use the version of "
        "discreet that made them: docs/maintenance.md names it. Or move them away, and issue new keys: discreet key "
        "issue. Keys forget what they spent; the grant of each individual still holds."
    )


def older(now: int, before: int) -> OlderCopy:
    """Return the error of a copy that lacks changes."""
    return OlderCopy(
        f"The accounts were put back from an older copy: they have {now} changes of {before}. Keys forget what they "
        "spent since; the grant of each individual still holds. Put the newest copy back. To go on with this one: "
        "discreet key accept-copy VAULT"
    )


def forked(row: int) -> OlderCopy:
    """Return the error of a copy that was changed apart from the newest one."""
    return OlderCopy(
        f"The accounts are another copy than the newest one: their change {row} is a different one. Keys forget what "
        "they spent in the other copy; the grant of each individual still holds. Put the newest copy back. To go on "
        "with this one: discreet key accept-copy VAULT"
    )

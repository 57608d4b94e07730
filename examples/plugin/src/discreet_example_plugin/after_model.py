"""A language model: it answers with the words that follow a phrase in its prompt. `--model after:PHRASE` uses it."""

from collections.abc import Sequence

from discreet.models.completer import CONTEXT


class AfterModel:
    """Completes each prompt with the rest of the sentence after the last place of a phrase.

    A prompt holds private text. So a completion depends on its own prompt alone, and no prompt causes an error.
    """

    row_independent = True
    context_length = CONTEXT

    def __init__(self, phrase: str) -> None:
        self.name, self._phrase = f"after:{phrase}", phrase

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt by at most so many words; one without the phrase has an empty completion."""
        return [self._complete(prompt, max_tokens) for prompt in prompts]

    def _complete(self, prompt: str, max_tokens: int) -> str:
        _, place, rest = prompt.rpartition(self._phrase)
        return " ".join(rest.partition(".")[0].split()[:max_tokens]) if place else ""

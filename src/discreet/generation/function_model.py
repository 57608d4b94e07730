"""A Python function as a language model."""

from collections.abc import Callable, Sequence

from discreet.errors import DiscreetError
from discreet.generation.completer_adapter import CONTEXT


class FunctionModel:
    """A `Completer` whose completions come from a Python function, such as a client of an inference server.

    The function sees the text of documents, so the server must be the custodian's own. How long the function takes may
    depend on the text.

    Args:
        function: takes a prompt and the most tokens of a completion; returns the completion.
        name: the name of the model.
        row_independent: whether a completion depends on its prompt alone, bit for bit. A server that batches requests
            usually does not promise this.
        context_length: the longest prompt with its completion, in tokens.
    """

    def __init__(
        self,
        function: Callable[[str, int], str],
        *,
        name: str = "function",
        row_independent: bool = False,
        context_length: int = CONTEXT,
    ) -> None:
        self._function = function
        self.name, self.row_independent, self.context_length = name, row_independent, context_length

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt by one call; a private prompt that fails yields an empty text.

        Raises:
            DiscreetError: if the function fails for the last prompt, which is public.
        """
        return [
            *(self._complete_private(prompt, max_tokens) for prompt in prompts[:-1]),
            *(self._complete_public(prompt, max_tokens) for prompt in prompts[-1:]),
        ]

    def _complete_private(self, prompt: str, max_tokens: int) -> str:
        try:
            return str(self._function(prompt, max_tokens))
        except Exception:
            # An error would tell something about the document in the prompt.
            return ""

    def _complete_public(self, prompt: str, max_tokens: int) -> str:
        try:
            return str(self._function(prompt, max_tokens))
        except Exception as error:
            reason = type(error).__name__
        # Raised outside of the handler: the function's own error may hold other prompts.
        raise DiscreetError(f"The model '{self.name}' failed on the public prompt ({reason}). Check its server.")

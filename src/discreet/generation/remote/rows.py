"""Rows as a server reads them: a plain text, or the messages of a chat.

A server has its own tokenizer, so texts are sent. The tokens here are the blocks of bytes of `completer_adapter`, and
three control tokens for the roles of a chat. No text becomes a control token.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.generation.completer_adapter import TextTokens
from discreet.generation.prompts import render_plain_chat

_ROLES = {2: "system", 3: "user", 4: "assistant"}
_SYSTEM, _USER, _ASSISTANT = _ROLES
STOPS = ("\n\n", "\nQuestion:", "\nRecord:")
"""What ends a plain completion: a model that writes on begins the next example of its prompt."""


@dataclass(frozen=True)
class ChatRow:
    """What one row asks: the turns of a chat, or one turn without a role."""

    turns: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages of a chat; the beginning of the answer, if there is one, is the last of them."""
        kept = [*self.turns[:-1], *(turn for turn in self.turns[-1:] if turn[1] or turn[0] != "assistant")]
        return [{"role": role or "user", "content": text} for role, text in kept]

    @property
    def folded(self) -> list[dict[str, str]]:
        """The messages of a chat for a model without a system's role: its text begins the first message."""
        first, *others = self.messages
        if first["role"] != "system" or not others:
            return self.messages
        return [{**others[0], "content": f"{first['content']}\n\n{others[0]['content']}"}, *others[1:]]

    @property
    def text(self) -> str:
        """The row as plain text."""
        if len(self.turns) == 1 and not self.turns[0][0]:
            return self.turns[0][1]
        system = "".join(text for role, text in self.turns if role == "system")
        said = [(role, text) for role, text in self.turns if role != "system"]
        *examples, (_, question), (_, begun) = said
        pairs = list(zip((text for _, text in examples[::2]), (text for _, text in examples[1::2]), strict=True))
        before, after = render_plain_chat(system, pairs)
        return f"{before}{question}{after}{begun}"


class ChatTokens(TextTokens):
    """The tokenizer of a server's model: blocks of bytes, and control tokens for the roles of a chat."""

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template: the roles as control tokens."""
        before = [_SYSTEM, *self.encode(system)]
        for question, answered in examples:
            before += [_USER, *self.encode(question), _ASSISTANT, *self.encode(answered)]
        return [*before, _USER], [_ASSISTANT]

    def row(self, tokens: Sequence[int]) -> ChatRow:
        """Return the row that tokens stand for."""
        turns: list[tuple[str, list[int]]] = []
        for token in tokens:
            if token in _ROLES:
                turns.append((_ROLES[token], []))
            elif turns:
                turns[-1][1].append(token)
            else:
                turns.append(("", [token]))
        return ChatRow(tuple((role, self.decode(own)) for role, own in turns) or (("", ""),))

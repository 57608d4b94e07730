"""All prompts and their layout.

All prompts of a question begin with the same public part: instructions, examples, the question. The private text
follows, then a public end with the beginning of the assistant's turn and the answer's prefix. Private text is cut to a
public number of tokens, and padding before it brings each prompt to one length, so shapes never depend on documents.
The parts are encoded separately, so a document cannot change the tokens of the public parts.
The public prompt is the one whose private text is empty.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.resources import files
from typing import Any

from discreet.errors import QuestionTooLong, UsageError
from discreet.models.protocol import Prompt, VotingModel

SYSTEM = "Answer the question with words of the record."
BEFORE = "Question: {question}\n\nRecord: "
AFTER = "\n\nQuestion: {question}"
SYSTEM_OF_KEYWORDS = "Answer the question with the keywords."
KEYWORDS = "Keywords: {}"


def read_examples(name: str) -> tuple[Any, ...]:
    """Return the examples of a prompt (`examples.toml`), as tuples of texts."""
    return tuple(one if isinstance(one, str) else tuple(one) for one in _EXAMPLES[name])


_EXAMPLES = tomllib.loads(files("discreet.models").joinpath("examples.toml").read_text(encoding="utf-8"))
DOCUMENT_TOKENS = 160
"""Tokens for each unit's passage. Of the notes of medical_synth, 95 in 100 fit whole."""


@dataclass(frozen=True)
class Layout:
    """The layout of the prompts of one question; all of it is public."""

    shared: tuple[int, ...]
    tail: tuple[int, ...]
    document_tokens: int
    pad_token: int

    def prompt(self, tokens: Sequence[int] = ()) -> Prompt:
        """Return the prompt with private text, cut to the public length; without text, the public prompt."""
        kept = tuple(tokens[: self.document_tokens])
        padding = self.document_tokens - len(kept)
        return Prompt((self.pad_token,) * padding + kept + self.tail, padding)


def render_plain_chat(system: str, examples: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Return instructions and examples as plain text, for a model without a chat template; and what follows a question.

    Args:
        system: the instructions.
        examples: pairs of a user's text and the assistant's answer.
    """
    shown = "".join(f"{question}\nAnswer: {answered}\n\n" for question, answered in examples)
    return f"{system}\n\n{shown}", "\nAnswer:"


def encode_or_empty(model: VotingModel, text: str) -> list[int]:
    """Return the tokens of a private text, or an empty list if the tokenizer fails: an error would show."""
    try:
        return model.encode(text)
    except Exception:
        return []


def layout(
    model: VotingModel,
    question: str,
    *,
    prefix: str = "",
    document_tokens: int = DOCUMENT_TOKENS,
    max_tokens: int,
    keywords: bool = False,
) -> Layout:
    """Return the layout for a question.

    Args:
        model: the model whose tokenizer and chat template are used.
        question: the question.
        prefix: the beginning of the answer.
        document_tokens: the public number of tokens of private text.
        max_tokens: the longest answer.
        keywords: whether the record is a list of keywords (`KEYWORDS`). Such a layout is shorter than another one.

    Raises:
        QuestionTooLong: if question, documents and answer together do not fit the context length of the model.
    """
    records = (
        map(KEYWORDS.format, _EXAMPLES["keywords"]) if keywords else (record for record, *_ in _EXAMPLES["answer"])
    )
    examples = [
        (BEFORE.format(question=question_of) + record + AFTER.format(question=question_of), answer)
        for record, (_, question_of, answer) in zip(records, _EXAMPLES["answer"], strict=True)
    ]
    opening, closing = model.chat(SYSTEM_OF_KEYWORDS if keywords else SYSTEM, examples)
    whole = Layout(
        shared=(*opening, *model.encode(BEFORE.format(question=question))),
        tail=(*model.encode(AFTER.format(question=question)), *closing, *model.encode(prefix)),
        document_tokens=document_tokens,
        pad_token=model.pad_token,
    )
    length = len(whole.shared) + len(whole.tail)
    room = model.context_length - document_tokens - max_tokens
    if length > room:
        raise QuestionTooLong(
            f"The question is too long: with its instructions it has {length} tokens; the model '{model.name}' "
            f"has room for {max(room, 0)} beside {document_tokens} of documents and {max_tokens} of answer. Shorten it."
        )
    return whole


REWRITE = "Rewrite the record as short facts. Leave out names of people, dates and numbers."
_REWRITTEN = read_examples("rewrite")
REWRITING = blake2b(repr((REWRITE, _REWRITTEN)).encode(), digest_size=8).hexdigest()
"""The digest of the prompt. Texts that were written with another prompt are not reused."""


def rewrite_layout(model: VotingModel, document_tokens: int, max_tokens: int) -> Layout:
    """Return the layout of prompts for rewriting a record.

    Raises:
        UsageError: if record and text together do not fit the context length of the model.
    """
    return record_layout(model, REWRITE, _REWRITTEN, document_tokens, max_tokens)


def record_layout(
    model: VotingModel,
    instruction: str,
    examples: Sequence[tuple[str, str]],
    document_tokens: int,
    max_tokens: int,
) -> Layout:
    """Return the layout of prompts that give a record and ask for a text about it.

    Args:
        model: the model whose tokenizer and chat template are used.
        instruction: what to do with a record.
        examples: pairs of a record and the text about it.
        document_tokens: the public number of tokens of a record.
        max_tokens: the longest text.

    Raises:
        UsageError: if record and text together do not fit the context length of the model.
    """
    opening, closing = model.chat(instruction, [(f"Record: {record}", text) for record, text in examples])
    whole = Layout((*opening, *model.encode("Record: ")), tuple(closing), document_tokens, model.pad_token)
    return check_fit(model, whole, max_tokens)


WRITE = "Write what you are asked for, in one sentence."
VARY = "Write another text like the one you are given: of the same kind, with some other details."


def write_layout(model: VotingModel, about: str, max_tokens: int) -> Layout:
    """Return the layout of a prompt for a text of the kind that `about` describes; all of it is public.

    Raises:
        UsageError: if description and text together do not fit the context length of the model.
    """
    opening, closing = model.chat(WRITE, read_examples("write"))
    return check_fit(
        model, Layout(tuple(opening), tuple(closing), len(model.encode(about)), model.pad_token), max_tokens
    )


def vary_layout(model: VotingModel, text_tokens: int, max_tokens: int) -> Layout:
    """Return the layout of prompts for a text like a given public one.

    Raises:
        UsageError: if the two texts together do not fit the context length of the model.
    """
    opening, closing = model.chat(VARY, read_examples("vary"))
    return check_fit(model, Layout(tuple(opening), tuple(closing), text_tokens, model.pad_token), max_tokens)


def judge_layout(model: VotingModel, text_tokens: int) -> Layout:
    """Return the layout of prompts for the subject of a text; the text and its length are public."""
    shared, tail = model.encode("Text:\n"), model.encode("\n\nThe text above is about")
    return Layout(tuple(shared), tuple(tail), text_tokens, model.pad_token)


def check_fit(model: VotingModel, made: Layout, max_tokens: int) -> Layout:
    """Return the layout.

    Raises:
        UsageError: if record and text together do not fit the context length of the model.
    """
    length = len(made.shared) + len(made.tail) + made.document_tokens + max_tokens
    if length > model.context_length:
        raise UsageError(
            f"Texts of {made.document_tokens} tokens and {max_tokens} tokens to write do not fit the model "
            f"'{model.name}', which has room for {model.context_length}, instructions included. Take fewer of either."
        )
    return made


# --- the prompt that asks for attributes ------------------------------------------------------------------------------

# The model writes "The treatment is ..." for each attribute, after its public beginning. The examples also say of some
# attributes that they are not stated. More of these make a small model miss what is stated.


ASK = "Write the facts of the record. If the record does not state a fact, it is not stated."
NOT_STATED = "not stated"
_STATED = read_examples("state")
ASKING = blake2b(repr((ASK, _STATED)).encode(), digest_size=8).hexdigest()
"""The digest of the prompt. What was read with another prompt is not reused."""


def asking_layout(model: VotingModel, document_tokens: int, max_tokens: int) -> Layout:
    """Return the layout of prompts that look for attributes in a record.

    Raises:
        UsageError: if record and text together do not fit the context length of the model.
    """
    return record_layout(model, ASK, _STATED, document_tokens, max_tokens)


def begin_sentence(attribute: str) -> str:
    """Return the beginning of the sentence about an attribute: "The symptoms are"."""
    several = attribute.endswith("s") and not attribute.endswith(("ss", "is", "us"))
    return f"The {attribute} {'are' if several else 'is'}"

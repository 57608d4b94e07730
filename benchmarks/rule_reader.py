"""A reader of medical_synth by rules, in place of a language model: what a release does, apart from what a model reads.

It finds the diagnosis and the treatment in one note, by the sentence that all notes have, and knows no gold answer.
"""

import re

from discreet.generation.completer_adapter import adapt_completer
from discreet.generation.function_model import FunctionModel
from discreet.generation.model import VotingModel

_SAID = re.compile(r"diagnosis is (.+?) and the treatment should be (.+?)\.")


def read_note(prompt: str, max_tokens: int) -> str:
    """Return the treatment in the last record of a prompt, if the question asks for one, and else the diagnosis."""
    record, question = prompt.rsplit("Record:", 1)[-1], prompt.rsplit("Question:", 1)[-1].lower()
    said = _SAID.search(record)
    if said is None:
        return " unknown"
    asks_for_treatment = any(word in question for word in ("treat", "help"))
    return f" {said[2 if asks_for_treatment else 1]}"


def rule_reader() -> VotingModel:
    """Return the reader as a model."""
    return adapt_completer(FunctionModel(read_note, name="rules", row_independent=True))

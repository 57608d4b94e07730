"""The prompt with which the model looks for the attributes of a schema in a record: made-up records, and what they say.

The model writes "The treatment is ..." for each attribute, after its public beginning. The examples also say of some
attributes that they are not stated. More of these make a small model miss what is stated.
"""

from hashlib import blake2b

from discreet.generation.model import VotingModel
from discreet.generation.prompts import Layout, read_examples, record_layout

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

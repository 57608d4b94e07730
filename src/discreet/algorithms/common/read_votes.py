"""Votes by what was read before (`discreet code`): a voter's answer is a statement of its own documents.

The statement is that which fits the question best. No model is asked. A vote is a function of the question and of one
voter's documents alone.
"""

from functools import partial

from discreet.algorithms.text.attributes import attribute_asked, matches
from discreet.algorithms.text.normalize import content
from discreet.algorithms.text.schema_words import attribute_in_question
from discreet.privacy.private import Private
from discreet.retrieval.codebook import Codebook
from discreet.retrieval.documents import Passage
from discreet.retrieval.sealed_corpus import Asked, SealedCorpus

Answers = tuple[Private[tuple[tuple[str, ...], str]], str]
"""The answer of each voter with its texts, and the public answer."""


def look_up_statements(
    question: str, documents: Private[tuple[Passage, ...]], corpus: SealedCorpus
) -> Private[tuple[Passage, ...]]:
    """Return the documents of the voters, each with its statement that fits the question best.

    Under a schema, that is a statement of the attribute that the question names; if none is, the embedder decides.
    """
    return corpus.stated(question, documents, content, _is_asked(question, corpus.schema))


def names_attribute(question: str, schema: Codebook | None) -> bool:
    """Return whether a question names an attribute, by public words, so that statements of it can answer.

    The model writes statements of the kinds that it knows. On notes about other things these are guesses, and the
    embedder alone finds the wrong one: there, voters that read the documents are right far more often.
    """
    return _is_asked(question, schema) is not None


def _is_asked(question: str, schema: Codebook | None) -> Asked | None:
    if schema is not None:
        found = attribute_in_question(schema, question)
        return found.name.__eq__ if found else None
    attribute = attribute_asked(question)
    return partial(matches, attribute=attribute) if attribute else None


def stated_answers(documents: Private[tuple[Passage, ...]]) -> Answers:
    """Return the first statement of each voter that fits, with its texts. There is no public answer without a model."""

    def answer(own: tuple[Passage, ...]) -> tuple[tuple[str, ...], str]:
        return tuple(one.text for one in own), next((one.stated for one in own if one.stated), "")

    return documents.map(answer), ""

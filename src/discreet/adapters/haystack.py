"""Haystack: a component that asks a vault, and a retriever over a released synthetic corpus."""

from typing import Any

from discreet.adapters import open_source
from discreet.adapters.corpus import ReleasedCorpus
from discreet.adapters.source import AnswerSource, check_source
from discreet.errors import MissingPart

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import GeneratedAnswer
except ImportError as error:
    raise MissingPart("The adapter for Haystack needs haystack-ai", "haystack") from error


@component
class DiscreetAnswerer:
    """A component that asks a source of answers.

    It gives one `GeneratedAnswer`: the answer, or the reason in words why none is there, with the metadata in `meta`
    (docs/extend.md). Its `documents` are empty: which documents an answer rests on is private.

    Args:
        source: the source of answers. A key is not written into a pipeline's YAML: loaded again, it comes from the
            environment variable DISCREET_KEY.

    Loaded from YAML, a pipeline needs `allowed_modules=["discreet.adapters.haystack"]`.
    """

    def __init__(self, source: AnswerSource) -> None:
        check_source(source)
        self._source = source

    @component.output_types(answers=list[GeneratedAnswer])
    def run(self, query: str, choices: list[str] | None = None) -> dict[str, list[GeneratedAnswer]]:
        """Ask, and return the answer."""
        reply = self._source.ask(query, choices or ())
        return {"answers": [GeneratedAnswer(reply.text, query, documents=[], meta=reply.metadata)]}

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain data, for a pipeline's YAML."""
        described: dict[str, Any] = default_to_dict(self, source=self._source.describe())
        return described

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "DiscreetAnswerer":
        """Return the component that `to_dict` described."""
        source = open_source(**data["init_parameters"]["source"])
        found: DiscreetAnswerer = default_from_dict(cls, {**data, "init_parameters": {"source": source}})
        return found


@component
class HaystackCorpusRetriever:
    """A retriever over a synthetic corpus that `discreet synthesize` released. It takes no vault, and pays nothing.

    Args:
        corpus: the corpus: `ReleasedCorpus.read("corpus.jsonl")`.
        top_k: the number of texts.
    """

    def __init__(self, corpus: ReleasedCorpus, top_k: int = 4) -> None:
        self._corpus, self._top_k = corpus, top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None) -> dict[str, list[Document]]:
        """Return the nearest texts, nearest first, without scores."""
        texts = self._corpus.nearest(query, self._top_k if top_k is None else top_k)
        return {"documents": [Document(content=text, meta=dict(self._corpus.about)) for text in texts]}

"""LlamaIndex: a query engine that asks a vault, and a retriever over a released synthetic corpus."""

import asyncio
from typing import Any

from discreet.adapters.corpus import ReleasedCorpus
from discreet.adapters.source import AnswerSource, check_source
from discreet.errors import MissingPart

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.response.schema import Response
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingPart("The adapter for LlamaIndex needs llama-index-core", "llamaindex") from error


class DiscreetQueryEngine(BaseQueryEngine):
    """A query engine that asks a source of answers.

    The response has the answer, or the reason in words why none is there, and the metadata (docs/extend.md). It has
    no source nodes: which documents an answer rests on is private.

    Args:
        source: the source of answers.
    """

    def __init__(self, source: AnswerSource) -> None:
        super().__init__(callback_manager=None)
        check_source(source)
        self._source = source

    def _query(self, query_bundle: QueryBundle) -> Response:
        """Ask, and return the response."""
        reply = self._source.ask(query_bundle.query_str)
        return Response(reply.text, source_nodes=[], metadata=reply.metadata)

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        """Ask in a thread: an answer takes seconds."""
        return await asyncio.to_thread(self._query, query_bundle)

    def _get_prompt_modules(self) -> dict[str, Any]:
        """Return no prompts: those of a vault cannot be changed here."""
        return {}


class LlamaIndexCorpusRetriever(BaseRetriever):
    """A retriever over a synthetic corpus that `discreet synthesize` released. It takes no vault, and pays nothing.

    Args:
        corpus: the corpus: `ReleasedCorpus.read("corpus.jsonl")`.
        k: the number of texts.
    """

    def __init__(self, corpus: ReleasedCorpus, k: int = 4) -> None:
        super().__init__()
        self._corpus, self._k = corpus, k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """Return the nearest texts, nearest first, without scores."""
        texts = self._corpus.nearest(query_bundle.query_str, self._k)
        return [NodeWithScore(node=TextNode(text=text, metadata=dict(self._corpus.about))) for text in texts]

"""LlamaIndex: the query engine and the retriever."""

import asyncio
from pathlib import Path

import pytest

from discreet.adapters.corpus import ReleasedCorpus
from discreet.adapters.source import AnswerSource
from tests.adapters.needs import needs
from tests.adapters.released import release
from tests.server.front.serving import QUESTION

needs("llama_index.core")

from llama_index.core.tools import QueryEngineTool  # noqa: E402

from discreet.adapters.llamaindex import DiscreetQueryEngine, LlamaIndexCorpusRetriever  # noqa: E402


def test_engine_gives_an_answer_without_sources(any_source: AnswerSource) -> None:
    engine = DiscreetQueryEngine(any_source)
    for response in (engine.query(QUESTION), asyncio.run(engine.aquery(QUESTION))):
        assert str(response) == "Winterhand" or str(response).startswith("No answer: too few")
        assert response.source_nodes == []
        assert response.metadata["epsilon"] >= 0


def test_engine_refuses_in_words(any_source: AnswerSource) -> None:
    response = DiscreetQueryEngine(any_source).query("Which patient has numb thumbs?")
    assert str(response).startswith("No answer: The vault cannot answer")
    assert (response.metadata["status"], response.metadata["code"]) == ("refused", "cannot_answer")


def test_engine_is_a_tool_of_an_agent(any_source: AnswerSource) -> None:
    tool = QueryEngineTool.from_defaults(DiscreetQueryEngine(any_source), name="ask", description="Ask.")
    output = tool.call(input=QUESTION)
    assert output.raw_output.source_nodes == []


def test_engine_has_no_way_to_retrieve(any_source: AnswerSource) -> None:
    engine = DiscreetQueryEngine(any_source)
    assert engine.get_prompts() == {}
    with pytest.raises(NotImplementedError):
        engine.retrieve(QUESTION)


def test_retriever_returns_texts_without_scores(tmp_path: Path) -> None:
    corpus = ReleasedCorpus.read(release(tmp_path), "hashing")
    (found,) = LlamaIndexCorpusRetriever(corpus, k=1).retrieve("What helps against winterhand?")
    assert (found.text, found.score) == ("winterhand wants sand", None)
    assert found.metadata["synthetic"] is True

"""Haystack: the answerer and the retriever, alone and in a pipeline."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.adapters.corpus import ReleasedCorpus
from discreet.adapters.server_source import ServerSource
from discreet.adapters.source import AnswerSource
from tests.adapters.needs import needs
from tests.adapters.released import release
from tests.server.front.serving import QUESTION, Server

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # nothing is sent from a test
needs("haystack")

from haystack import Pipeline  # noqa: E402

from discreet.adapters.haystack import DiscreetAnswerer, HaystackCorpusRetriever  # noqa: E402

TRUSTED = ["discreet.adapters.haystack"]


def test_answerer_gives_an_answer_without_documents(any_source: AnswerSource) -> None:
    (answer,) = DiscreetAnswerer(any_source).run(QUESTION)["answers"]
    assert answer.data == "Winterhand" or answer.data.startswith("No answer: too few")
    assert (answer.documents, answer.query) == ([], QUESTION)
    assert answer.meta["epsilon"] >= 0


def test_answerer_refuses_in_words(any_source: AnswerSource) -> None:
    (answer,) = DiscreetAnswerer(any_source).run("Which patient has numb thumbs?")["answers"]
    assert answer.data.startswith("No answer: The vault cannot answer")
    assert (answer.meta["status"], answer.meta["code"]) == ("refused", "cannot_answer")


def test_pipeline_is_written_without_the_key(
    server: Server, issue: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = issue()
    pipeline = Pipeline()
    pipeline.add_component("private", DiscreetAnswerer(ServerSource(server.root, key, model="v")))
    written = pipeline.dumps()
    assert key not in written
    monkeypatch.setenv("DISCREET_KEY", key)
    again = Pipeline.loads(written, allowed_modules=TRUSTED)
    assert again.dumps() == written
    (answer,) = again.run({"private": {"query": QUESTION}})["private"]["answers"]
    assert answer.meta["status"] in ("answered", "no_answer")


def test_pipeline_of_a_vault_is_opened_again(folder: Path) -> None:
    pipeline = Pipeline()
    pipeline.add_component("private", DiscreetAnswerer.from_dict(_described(folder)))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=TRUSTED)
    (answer,) = again.run({"private": {"query": "How many patients have numb thumbs?"}})["private"]["answers"]
    assert answer.data.startswith("About ")


def _described(folder: Path) -> dict[str, object]:
    name = "discreet.adapters.haystack.DiscreetAnswerer"
    return {"type": name, "init_parameters": {"source": {"where": str(folder), "epsilon": 1.0}}}


def test_retriever_returns_texts_without_scores(tmp_path: Path) -> None:
    corpus = ReleasedCorpus.read(release(tmp_path), "hashing")
    retriever = HaystackCorpusRetriever(corpus)
    (found,) = retriever.run("What helps against winterhand?", top_k=1)["documents"]
    assert (found.content, found.score) == ("winterhand wants sand", None)
    assert found.meta["synthetic"] is True
    assert len(retriever.run("winterhand")["documents"]) == 4

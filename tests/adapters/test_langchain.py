"""LangChain: the tool and the retriever."""

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.adapters.corpus import ReleasedCorpus
from discreet.adapters.source import AnswerSource
from discreet.errors import UsageError
from discreet_server.vault_source import VaultSource
from tests.adapters.needs import needs
from tests.adapters.released import release
from tests.server.front.serving import QUESTION

needs("langchain_core")

from discreet.adapters.langchain import DiscreetTool, ReleasedCorpusRetriever  # noqa: E402


def call(tool: Any, **args: Any) -> Any:
    return tool.invoke({"type": "tool_call", "id": "7", "name": tool.name, "args": args})


def test_tool_gives_an_answer_and_its_cost(any_source: AnswerSource) -> None:
    message = call(DiscreetTool(source=any_source), question=QUESTION)
    assert message.status == "success"
    assert message.content == "Winterhand" or message.content.startswith("No answer: too few")
    assert message.artifact["epsilon"] >= 0
    assert "documents" not in message.artifact


def test_tool_refuses_in_words(any_source: AnswerSource) -> None:
    message = call(DiscreetTool(source=any_source), question="Which patient has numb thumbs?")
    assert (message.status, message.artifact) == ("error", None)
    assert message.content.startswith("No answer: The vault cannot answer a question of this kind.")


@pytest.mark.parametrize("wrong", [{"query": "Is it?"}, {"question": QUESTION, "epsilon": 1}, {"question": [QUESTION]}])
def test_wrong_arguments_are_said_in_words(source: VaultSource, wrong: dict[str, Any]) -> None:
    message = call(DiscreetTool(source=source), **wrong)
    assert message.status == "error"
    assert "Expected: question (a text), and choices (a list of texts)" in message.content


def test_vault_is_no_source_and_is_not_asked(source: VaultSource, folder: Path) -> None:
    for wrong in (source._vault, str(folder), None):
        with pytest.raises(UsageError, match="Expected: a source of answers, such as open_source"):
            DiscreetTool(source=wrong)


def test_tool_takes_choices(any_source: AnswerSource) -> None:
    message = call(
        DiscreetTool(source=any_source), question="Which disease numbs a thumb?", choices=["winterhand", "flu"]
    )
    assert message.content in ("winterhand", "flu") or message.content.startswith("No answer: too few")


def test_tool_shows_neither_its_source_nor_a_path(folder: Path) -> None:
    tool = DiscreetTool(source=VaultSource(folder))
    shown = repr(tool) + json.dumps(tool.model_dump(exclude={"args_schema"}), default=repr) + repr(tool.to_json())
    assert str(folder) not in shown
    assert "Source" not in shown


def test_retriever_returns_texts_of_the_corpus(tmp_path: Path) -> None:
    corpus = ReleasedCorpus.read(release(tmp_path), "hashing")
    (found,) = ReleasedCorpusRetriever(corpus=corpus, k=1).invoke("What helps against winterhand?")
    assert found.page_content == "winterhand wants sand"
    assert found.metadata["synthetic"] is True

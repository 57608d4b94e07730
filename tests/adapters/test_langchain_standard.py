"""LangChain's own suites for tools and retrievers (langchain-tests), which `make adapters` installs."""

from collections.abc import Iterator
from typing import Any

import pytest

from discreet.adapters.corpus import ReleasedCorpus
from discreet.adapters.source import AnswerSource
from tests.adapters.needs import needs
from tests.adapters.released import release
from tests.server.front.serving import QUESTION

needs("langchain_core", "langchain_tests")

from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests  # noqa: E402
from langchain_tests.unit_tests import ToolsUnitTests  # noqa: E402

from discreet.adapters.langchain import DiscreetTool, ReleasedCorpusRetriever  # noqa: E402


class _Tool:
    """The tool, with each source in turn."""

    @pytest.fixture(autouse=True)
    def given(self, any_source: AnswerSource) -> None:
        self.source = any_source

    @property
    def tool_constructor(self) -> type[Any]:
        return DiscreetTool

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return {"source": self.source}

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"question": QUESTION}


class TestToolUnit(_Tool, ToolsUnitTests):
    pass


class TestToolIntegration(_Tool, ToolsIntegrationTests):
    pass


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def given(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        cls.corpus = ReleasedCorpus.read(release(tmp_path_factory.mktemp("corpus")), "hashing")
        yield
        del cls.corpus

    @property
    def retriever_constructor(self) -> type[Any]:
        return ReleasedCorpusRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"corpus": self.corpus}

    @property
    def retriever_query_example(self) -> str:
        return "What helps against winterhand?"

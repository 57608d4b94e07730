"""LangChain: a tool that asks a vault, and a retriever over a released synthetic corpus."""

from typing import Any

from discreet.adapters.corpus import ReleasedCorpus
from discreet.adapters.source import AnswerSource, check_source
from discreet.errors import MissingPart

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, ToolException
    from pydantic import BaseModel, ConfigDict, Field, SkipValidation
except ImportError as error:
    raise MissingPart("The adapter for LangChain needs langchain-core", "langchain") from error

DESCRIPTION = (
    "Ask one question about what holds for many individuals of a private collection of documents. Each new question "
    "spends a budget that does not come back: ask few and precise questions, each in one whole sentence. The answer is "
    "a few words, or a number with its interval. Questions about one individual are refused."
)


WRONG_ARGUMENTS = (
    "The arguments of the tool are wrong; nothing was asked or paid. Expected: question (a text), and choices (a list "
    "of texts) if the possible answers are known; nothing else."
)


class AskedQuestion(BaseModel):
    """The arguments of the tool. Others are refused: one that looks like a limit of the cost would limit nothing."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(description="One whole question about what holds for many individuals.")
    choices: list[str] | None = Field(default=None, description="Public answers to choose among, if they are known.")


class DiscreetTool(BaseTool):
    """A tool that asks a source of answers.

    Its content is the answer, or a sentence that nothing was released. Its artifact is the metadata (docs/extend.md).
    A refusal is a `ToolException`, which becomes a message with the status "error" and the reason in words.

    Attributes:
        source: the source of answers.
    """

    name: str = "ask_private_documents"
    description: str = DESCRIPTION
    args_schema: type[BaseModel] = AskedQuestion
    response_format: str = "content_and_artifact"
    handle_tool_error: bool = True
    handle_validation_error: Any = WRONG_ARGUMENTS
    source: SkipValidation[AnswerSource] = Field(repr=False, exclude=True)

    def model_post_init(self, context: Any, /) -> None:
        """Check the source."""
        super().model_post_init(context)
        check_source(self.source)

    def _run(self, question: str, choices: list[str] | None = None) -> tuple[str, dict[str, Any]]:
        """Ask, and return the text with the metadata."""
        reply = self.source.ask(question, choices or ())
        if reply.status == "refused":
            raise ToolException(reply.text)
        return reply.text, reply.metadata


class ReleasedCorpusRetriever(BaseRetriever):
    """A retriever over a synthetic corpus that `discreet synthesize` released. It takes no vault, and pays nothing.

    Attributes:
        corpus: the corpus: `ReleasedCorpus.read("corpus.jsonl")`.
        k: the number of texts.
    """

    corpus: SkipValidation[ReleasedCorpus] = Field(repr=False, exclude=True)
    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        """Return the nearest texts, nearest first."""
        texts = self.corpus.nearest(query, self.k if k is None else k)
        return [Document(page_content=text, metadata=dict(self.corpus.about)) for text in texts]

"""Public answers that a question starts with: the corpus proposes, and the voters dispose (privacy-spec, part 10.5).

Sources are a public corpus, as the public model reads it and as it states facts, and what earlier questions released.
All of them are public before a document is read, so proposals cost nothing. What the public model says without a text
is no proposal: it is shown for nothing if no answer is released, and voters whose documents do not help say it, too.
"""

from collections.abc import Sequence

from discreet.algorithms.common.algorithm import Algorithm
from discreet.baselines.rag import RAG
from discreet.errors import UsageError
from discreet.generation.model import VotingModel
from discreet.query.answer_cache import Released
from discreet.retrieval.public import PublicTexts
from discreet.synthesis.fact_extraction import facts_of

READ = 3
"""The number of texts of a corpus from which answers are proposed."""


def check_hears(algorithm: Algorithm) -> None:
    """Check that an algorithm hears proposed answers.

    Raises:
        UsageError: if it does not, with its parameters.
    """
    if not algorithm.hears_proposals:
        raise UsageError(
            f"{algorithm.name} hears no proposed answers with these parameters. Use murag-ada, or consensus with "
            "the leader and at most 40 voters, and no choices."
        )


def propose(
    question: str,
    texts: PublicTexts,
    before: Sequence[Released],
    algorithm: Algorithm,
    model: VotingModel,
) -> tuple[str, ...]:
    """Return answers that a public corpus and released answers propose, the likeliest ones first.

    Args:
        question: the question.
        texts: the public corpus. The texts that are nearest to the question are read, each by itself.
        before: released answers to related questions.
        algorithm: the algorithm that the voters use; its limit of tokens and its prefix hold here, too.
        model: the public model.
    """
    reader = RAG(max_tokens=getattr(algorithm, "max_tokens", RAG.max_tokens), prefix=getattr(algorithm, "prefix", ""))
    near = texts.unsealed_passages(question, READ)
    read = reader.read_all([(question, [passage]) for passage in near], model)
    stated = [value for passage in near for _, value in facts_of(passage.text)]
    return (*(answer.text for answer in read), *stated, *(value for one in before for value in one.released))

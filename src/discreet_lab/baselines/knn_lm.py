"""kNN-LM: a language model mixed with the next tokens of the nearest contexts. No guarantee, projected or not.

Khandelwal et al. (2019), Equation 3, with the projection of Yao and Li (Algorithm 1):

    p(y | x) = lambda p_kNN(y | x) + (1 - lambda) p_LM(y | x),
    p_kNN(y | x) proportional to the sum of exp(-d(f(x), k_i)) over those of the K nearest entries whose token is y.

f is the state of the model's last layer. d is the squared Euclidean distance, of projected states if a projection is
used. The released tokens follow from the documents' tokens without noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.base import AlgorithmSpec, GeneratedAnswer, Query, Stopped
from discreet.baselines import require_baseline
from discreet.errors import UsageError
from discreet.models.capabilities import Capability
from discreet.models.protocol import ContextModel, Logits, Prompt, States, VotingModel
from discreet.privacy.account import Account
from discreet.privacy.accounting import Budget
from discreet.store.documents import StoredText
from discreet.store.sealed_corpus import SealedCorpus
from discreet_lab.baselines.datastore import ENTRIES, Datastore, Tokens, build, kept
from discreet_lab.baselines.projection_rag import Projected, storage_folder

Probabilities = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class KnnLM(Projected):
    """Greedy decoding with the mixture. Parameters: those of `Projected`, and more.

    Attributes:
        weight: the weight of the neighbours (lambda).
        neighbours: the number of entries that are looked up (K).
        entries: the largest number of entries of the datastore (n).
        max_tokens: the longest answer in tokens.
        prefix: the first words of the answer.
    """

    name: ClassVar[str] = "knn-lm"
    spec: ClassVar[AlgorithmSpec] = replace(Projected.spec, capabilities=frozenset({Capability.STATES}))

    weight: float = field(default=0.1, metadata={"option": "knn_weight"})
    neighbours: int = 1024
    entries: int = ENTRIES
    max_tokens: int = 32
    prefix: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.weight <= 1:
            raise UsageError(f"weight lies between 0 and 1, not {self.weight:g}. Try 0.1.")
        if self.neighbours < 1 or self.entries < 1:
            raise UsageError("kNN-LM needs at least one neighbour and one entry. The paper takes 1024 of 465,026.")

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Return None: the algorithm charges nothing, and gives no guarantee."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Continue the question's text. The answer's prefix, if any, stands on a line of its own."""
        model, corpus = with_contexts(model), require_baseline(corpus)
        transform = self.transform(model.state_size, account.noise, corpus.folder)
        folder = storage_folder(corpus.folder, account.noise) / self._called() if corpus.folder else None

        def made(texts: list[StoredText]) -> Datastore:
            read = [text.text for text in texts]
            if folder is None:
                return build(read, model, transform, self.entries)
            return kept(folder, read, model, transform, self.entries)

        made_with = f"{model.name} {self.entries} {transform.fingerprint}"
        datastore = account.unpaid().release(self.opening(), corpus.made_once(made_with, made))
        prompt = model.encode(f"{query.text}\n{self.prefix}" if self.prefix else query.text)
        if len(prompt) + self.max_tokens > model.context_length:
            raise UsageError(f"The question is too long for the model '{model.name}'. Shorten it.")
        ((tokens, stopped),) = self.continue_all(datastore, model, [prompt])
        return GeneratedAnswer(self.prefix + model.decode(tokens), stopped, len(tokens))

    def _called(self) -> str:
        if self.protection == "none":
            return "datastore-none"
        return f"datastore-{self.protection}-{self.k}-{self.gamma:g}-{self.norm:g}-{self.sigma:g}"

    def continue_all(
        self, datastore: Datastore, model: ContextModel, prompts: Sequence[Sequence[int]]
    ) -> list[tuple[list[int], Stopped]]:
        """Continue all prompts greedily in one batch; return the tokens of each, and why it stopped."""
        length = max(len(prompt) for prompt in prompts)
        padded = [Prompt((model.pad_token,) * (length - len(p)) + tuple(p), length - len(p)) for p in prompts]
        decoding = model.start_with_states(padded, self.max_tokens)
        written: list[list[int]] = [[] for _ in prompts]
        ended = [False] * len(prompts)
        for _ in range(self.max_tokens):
            best = np.argmax(self.mixed(datastore, decoding.states(), decoding.logits()), axis=1).tolist()
            ended = [over or token in model.end_tokens for over, token in zip(ended, best, strict=True)]
            if all(ended):
                break
            for row, token in enumerate(best):
                if not ended[row]:
                    written[row].append(token)
            decoding.append_each(best)
        return [(tokens, "end" if over else "length") for tokens, over in zip(written, ended, strict=True)]

    def mixed(self, datastore: Datastore, states: States, logits: Logits) -> Probabilities:
        """Return the probabilities of the mixture, shape (rows, vocabulary)."""
        rows = np.arange(len(states))[:, None]
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        model_says = shifted / shifted.sum(axis=1, keepdims=True)
        if not len(datastore) or self.weight == 0:
            return np.asarray(model_says, dtype=np.float32)
        tokens, weights = self.looked_up(datastore, states)
        mixture = (1 - self.weight) * model_says
        np.add.at(mixture, (rows, tokens), self.weight * weights)
        return np.asarray(mixture, dtype=np.float32)

    def looked_up(self, datastore: Datastore, states: States) -> tuple[Tokens, Probabilities]:
        """Return the tokens of the nearest entries and their weights, both of shape (rows, neighbours)."""
        distances, entries = datastore.keys.nearest(datastore.transform.questions(states), self.neighbours)
        weights = np.exp(distances[:, :1] - distances)
        return datastore.tokens[entries], np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float32)


def with_contexts(model: VotingModel) -> ContextModel:
    """Return the model as one that returns its hidden states.

    Raises:
        UsageError: if it does not.
    """
    if not isinstance(model, ContextModel):
        raise UsageError(f"kNN-LM needs the model's hidden states, which '{model.name}' does not return.")
    return model

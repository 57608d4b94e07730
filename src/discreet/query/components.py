"""The parts of a vault that the pipeline of a question reads. `vault.components` has all of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.baselines.corpus import BaselineCorpus
from discreet.config import VaultConfig
from discreet.generation.model import VotingModel
from discreet.query.answer_cache import AnswerCache
from discreet.query.public_context import PublicContext
from discreet.retrieval.sealed_corpus import SealedCorpus
from discreet.synthesis.readings import Readings

if TYPE_CHECKING:
    from discreet.ledger.ledger import LogLedger


class QueryComponents(Protocol):
    """The parts of a vault that answer a question.

    Attributes:
        path: the vault's folder.
        settings: the configuration, fixed when the vault was made.
        ledger: the grant, and every charge against it.
        asked: the ids of the questions that these parts answered, in the ledger.
    """

    path: Path
    settings: VaultConfig
    ledger: "LogLedger"
    asked: list[str]

    @property
    def model(self) -> VotingModel:
        """The language model; loaded at first use."""

    @property
    def corpus(self) -> SealedCorpus:
        """The documents, sealed, to be searched."""

    @property
    def baseline_corpus(self) -> BaselineCorpus:
        """The documents for baselines without a guarantee, also in the clear."""

    @property
    def history(self) -> AnswerCache:
        """The answers that were released."""

    @property
    def public_context(self) -> PublicContext:
        """The corpus that the public prompt may read."""

    @property
    def readings(self) -> Readings:
        """What the model read in the texts."""

    @property
    def codes(self) -> Readings:
        """The codes that were found in the texts."""

    @property
    def asked_settings(self) -> VaultConfig:
        """The settings as questions see them: with the codes among the declared fields."""

    @property
    def flight_secret(self) -> bytes:
        """The key from which flights get their names."""

    def load(self) -> None:
        """Load the embedder and the model of a new answer, so that a failure comes before any payment."""

    def load_embedder(self) -> None:
        """Load the embedder, and check that it is there, so that a failure comes before any payment."""

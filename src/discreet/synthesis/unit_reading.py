"""What units bring to a synthetic corpus: their texts, with the keywords and facts that the model found in each."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from discreet.generation.capabilities import find_assumptions
from discreet.generation.model import ScoringModel
from discreet.generation.prompts import REWRITING
from discreet.privacy.partition import ADD_REMOVE_ONE, Member
from discreet.privacy.private import Private
from discreet.retrieval.documents import StoredText
from discreet.retrieval.sealed_corpus import unit_key
from discreet.retrieval.store import Store
from discreet.synthesis.base import Fact, Ranked, SynthesisAlgorithm, TextPiece, UnitTexts
from discreet.synthesis.dp_synrag import BEFORE, ranked_keywords
from discreet.synthesis.extraction_cache import FACTS, KEYWORDS, ExtractionCache
from discreet.synthesis.fact_extraction import PARSED, found_in, stated
from discreet.synthesis.readings import Readings

_Progress = Callable[[str, int, int], None]
UNIT_TAG = 16
"""Bytes of a unit's name in a run: with 8, two of ten million units would share one with a chance above 1e-6."""
READ = 32
"""How many keywords of a text are kept, at least: for another number, the next corpus need not read the texts again."""


@dataclass(frozen=True)
class UnitReader:
    """The model that reads the texts of units, each text by itself.

    Attributes:
        model: the public model.
        machine: the digest of the kind of machine, which is part of the keys of the extraction cache.
        store: the store, which names the units of a run.
        secret: the key of the units' names in the ledger; empty if all units pay.
        readings: what the model read in the texts before (`discreet code`); None if that is not used.
    """

    model: ScoringModel
    machine: str
    store: Store
    secret: bytes = field(repr=False)
    readings: Readings | None = field(default=None, repr=False)

    def read(
        self,
        texts: Sequence[StoredText],
        parameters: SynthesisAlgorithm[Any],
        files: Mapping[str, TextIO],
        on_progress: _Progress,
    ) -> Private[Member[UnitTexts]]:
        """Return the texts of each unit, sealed, with the keywords and facts that the method asks for."""
        plain = [text.text for text in texts]
        most, _ = parameters.keywords_read or (0, 0)
        keywords = self._read_keywords(plain, parameters, files[KEYWORDS], on_progress)
        facts = self._read_facts(plain, parameters, files[FACTS], on_progress)
        pieces: dict[str, list[TextPiece]] = defaultdict(list)
        tags = {unit: self.store.tag(unit.encode(), UNIT_TAG) for unit in {text.unit for text in texts}}
        for text, words, own_facts in zip(texts, keywords, facts, strict=True):
            pieces[text.unit].append(TextPiece(text.text, text.vector, words, own_facts))
        return Private(
            [
                Member(unit_key(unit, self.secret), UnitTexts(tuple(own), most, tags[unit]))
                for unit, own in sorted(pieces.items())
            ],
            ADD_REMOVE_ONE,
        )

    def assumptions(self, parameters: SynthesisAlgorithm[Any]) -> tuple[str, ...]:
        """Return what the guarantee takes for granted about the model, and about the reading whose facts are taken."""
        own = find_assumptions(self.model)
        if parameters.facts_read is None or self.readings is None:
            return own
        return tuple(dict.fromkeys(own + self.readings.facts_assume(self._way(*parameters.facts_read))))

    def _way(self, tokens: int, text_tokens: int) -> tuple[Any, ...]:
        """Return all that facts depend on beside the text."""
        return self.model.name, self.machine, tokens, text_tokens, PARSED, REWRITING

    def _read_keywords(
        self, texts: Sequence[str], parameters: SynthesisAlgorithm[Any], file: TextIO, on_progress: _Progress
    ) -> list[Ranked]:
        if parameters.keywords_read is None:
            return [()] * len(texts)
        most, text_tokens = parameters.keywords_read
        kept, rank = max(most, READ), parameters.list_keywords or ranked_keywords
        cache = ExtractionCache(
            file,
            (self.model.name, self.machine, kept, text_tokens, BEFORE if rank is ranked_keywords else rank.__name__),
            lambda fresh: rank(self.model, fresh, kept, text_tokens),
        )
        keywords = cache.of(texts, lambda done: on_progress("keywords", done, len(texts)))
        return [tuple((word, float(nats)) for word, nats in ranked[:most]) for ranked in keywords]

    def _read_facts(
        self, texts: Sequence[str], parameters: SynthesisAlgorithm[Any], file: TextIO, on_progress: _Progress
    ) -> list[tuple[Fact, ...]]:
        if parameters.facts_read is None:
            return [()] * len(texts)
        tokens, text_tokens = parameters.facts_read
        about = self._way(tokens, text_tokens)
        # A function of the text, the model and the machine alone: the same facts, read before or now.
        others = self.readings.facts(about) if self.readings else {}
        cache = ExtractionCache(file, about, lambda fresh: stated(self.model, fresh, tokens, text_tokens), others)
        found = cache.of(texts, lambda done: on_progress("facts", done, len(texts)))
        return [found_in(text, facts) for text, facts in zip(texts, found, strict=True)]

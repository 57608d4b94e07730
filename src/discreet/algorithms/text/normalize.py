"""What an answer says, from its text alone: its keywords, its canonical form, and the words it shares with records.

Each answer is parsed on its own, so that one answer cannot change what another one says.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from unicodedata import category, normalize

from discreet.errors import UsageError

STOP_WORDS = frozenset(
    """a about above after again all also although am among an and another any are as at be because been before being
    below between both but by can cannot could did do does doing done down during each either else every few for from
    further had has have having he her here hers herself him himself his how however i if in into is it its itself just
    may me might more most much must my myself neither no nor not now of off on once one only onto or other our ours
    ourselves out over own per shall she should since so some such than that the their theirs them themselves then there
    therefore these they this those though through thus to too toward towards under until up upon us very was we were
    what when where whether which while who whom whose why will with within without would yet you your yours yourself
    yourselves""".split()
)
"""English function words: public, in every answer, and without information for the next one."""

_SAME = str.maketrans({"’": "'", "\N{FRACTION SLASH}": "/"})
_NOT_IN_A_NUMBER = re.compile(r"(?<!\d)[.,:/]|[.,:/](?!\d)")
_POSSESSIVE = re.compile(r"'s(?!\w)")
_NOT_IN_A_WORD = re.compile(r"(?<!\w)'|'(?!\w)")


def keywords(answer: str) -> frozenset[str]:
    """Return the words of an answer without stop words, regardless of order, case and number.

    DP-KSA counts the tokens of a model or "word tokens". Whole words are the same for every model, and readable.

    - Unicode is normalized to NFKC and case folded; invisible characters (soft hyphens, joiners) are dropped.
    - A word is a run of letters, their marks, digits, and apostrophes between them. All other characters, hyphens too,
      separate words. A possessive 's is dropped.
    - Numbers are kept, with points, commas, colons and slashes between digits: "3.5", "10,000", "12:30".
    - `STOP_WORDS` are left out. Words are not stemmed: "thumb" and "thumbs" are two words.
    """
    text = normalize("NFKC", normalize("NFKC", answer).casefold()).translate(_SAME)
    text = _POSSESSIVE.sub("", _NOT_IN_A_NUMBER.sub(" ", "".join(map(_kept, text))))
    return frozenset(_NOT_IN_A_WORD.sub(" ", text).split()) - STOP_WORDS


def _kept(character: str) -> str:
    """Return the character itself, a space in its place, or an empty string."""
    kind = category(character)
    if kind == "Cf":
        return ""
    return character if kind[0] in "LMN" or character in ".,:/'" else " "


# --- what a short answer and a yes/no question say --------------------------------------------------------------------
# Canonical forms, claims and candidates follow from a text alone.
#
# Two voters agree if the canonical forms of their answers are equal. The form is public and deterministic, and is
# computed for one answer at a time. It may depend on the question, which is public, but not on other answers. Its
# steps:
#
# 1. Keep the first line, and of it the first sentence.
# 2. If the question wants yes or no, and the answer begins with one, keep that word.
# 3. Keep words without case, punctuation and leading articles; hyphens and points inside a word stay.
# 4. Drop the phrase that leads up to the answer: "The treatment for X is Y" becomes "y", since its head, "the
#    treatment", only repeats the question. "Y is the disease" becomes "y" as well.
#
# An answer without remaining words is an abstention.
#
# A candidate that an answer names is a function of the question, of public answers and of one voter's own answer. So a
# voter still has one vote, which no other voter moves (privacy-spec, part 10.5).
#
# A yes/no question claims a value for a subject: "Is cold tea used to treat Thunder Heart?" claims "cold tea" for
# "Thunder Heart". A claim about a treatment has an open question, too: "What is the treatment for Thunder Heart?" Other
# claims have none. The forms are those of English questions about diseases. A question of another form has no subject,
# and all its words are the value. The claim may be wrapped in a polite or a doubtful question: "Can you tell me if X is
# treated with A?", "X is treated with A, right?" and "Is it true that X is treated with A?" all ask "Is X treated with
# A?" In doubt, a question is unchanged.

_WORD = re.compile(r"\w+(?:[-'.,:/&+]\w+)*", re.UNICODE)
# A sentence ends before a space, but not after a single letter or a title: "Dr. Lind", "J. Lind".
SENTENCE_END = re.compile(r"(?<!\b\w)(?<!\b[DMS]r)(?<!\bMrs)(?<!\bMs)(?<!\bSt)(?<!\bNo)[.!?](?=\s|$)")

ARTICLES = frozenset("a an the".split())
LINKS = frozenset("is are was were be called named known as".split())
_NO_START = ARTICLES | LINKS
_PREPOSITIONS = frozenset("of for in on at to from with by among within".split())
# Words that name the kind of an answer, not the answer.
LABELS = frozenset(
    """
    answer name one some its his her their this that it he she they condition disease illness disorder syndrome
    diagnosis symptom sign treatment therapy medication medicine drug remedy cure patient record question doctor
    person place date time year number reason cause rare common main likely possible possibly probably most also
    """.split()
)
_YES_NO = frozenset(
    "is are was were am do does did can could will would should has have had may might must shall".split()
)


def canonical(answer: str, question: str = "") -> str:
    """Return the canonical form of `answer`; an empty string if it has no content.

    Args:
        answer: the answer of a voter.
        question: the question that it answers.
    """
    said, question_words = words_of(first_sentence(answer)), words_of(question)
    if said and said[0] in ("yes", "no") and question_words and question_words[0] in _YES_NO:
        return said[0]
    return " ".join(_without_lead(said, frozenset(map(strip_plural, question_words))))


def choice(answer: str, choices: tuple[str, ...], question: str = "") -> int | None:
    """Return the index of the public choice that an answer names; None if it names no choice.

    The first choice in the text counts, and the longest of several that begin there. The core of the answer counts
    before the whole of it: "the better of A and B is B" names B.
    """
    named = _named(choices)
    longest = max(map(len, named))
    for words in (canonical(answer, question).split(), words_of(answer)):
        for start in range(len(words)):
            for length in range(min(longest, len(words) - start), 0, -1):
                chosen = named.get(tuple(words[start : start + length]))
                if chosen is not None:
                    return chosen
    return None


def check_choices(choices: tuple[str, ...]) -> None:
    """Refuse choices that an answer could not distinguish.

    Raises:
        UsageError: if there is only one choice, one has no words, or two differ only in case and punctuation.
    """
    if len(choices) < 2:
        raise UsageError("There is only one choice. Give at least two, or none.")
    if len(_named(choices)) < len(choices) or () in _named(choices):
        raise UsageError("Two choices differ only in case and punctuation, or one is empty. Leave it out.")


@lru_cache(maxsize=16)
def _named(choices: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    return {tuple(words_of(text)): number for number, text in enumerate(choices)}


def first_sentence(text: str) -> str:
    """Return the first sentence of the first line of a text."""
    lines = text.strip().splitlines()
    line = lines[0] if lines else ""
    end = SENTENCE_END.search(line)
    return line[: end.start()] if end and line[: end.start()].strip() else line


def words_of(text: str) -> list[str]:
    """Return the words of a text, without case and punctuation; hyphens and points inside a word stay."""
    return _WORD.findall(_in_one_form(text).casefold())


def parts_of(text: str) -> list[str]:
    """Return the words of a text with their case, and in the place of words with hyphens their parts."""
    return [part for word in _WORD.findall(_in_one_form(text)) for part in word.split("-")]


def _in_one_form(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _without_lead(words: list[str], asked: frozenset[str]) -> list[str]:
    """Return the words without those that lead up to the answer."""

    def empty(part: list[str]) -> bool:
        said = ({word, strip_plural(word)} for word in part)
        return all(forms & asked or forms & LABELS or forms & ARTICLES or forms & LINKS for forms in said)

    while True:
        words = words[next((index for index, word in enumerate(words[:-1]) if word not in _NO_START), len(words) - 1) :]
        if words in (["the"], ["an"]):  # "a" alone may be an answer: a blood group, a choice
            return []
        link = next((index for index, word in enumerate(words) if word in LINKS), len(words))
        before, after = words[:link], words[link + 1 :]
        if not (before and after):
            return words
        if not empty(head(before)):
            return before if empty(head(after)) else words
        words = after


def head(words: list[str]) -> list[str]:
    """Return a phrase up to its first preposition: of "treatment for X", "treatment"."""
    end = next((index for index, word in enumerate(words) if word in _PREPOSITIONS), len(words))
    return words[:end]


def strip_plural(word: str) -> str:
    """Return a word without the s of a plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


_PATIENTS = r"(?:the )?(?:patients|people|those|persons|children|adults|cases) with"
_BE = r"(?:is|are|was|were|can|could|should|may)(?:n't)?"
_DO = r"(?:do|does|did|can|could|will|may|might|has|have)(?:n't)?"
_OFTEN = r"(?:(?:be|usually|often|sometimes|typically|normally|commonly|ever|also) ){0,3}"
_REMEDY = r"(?:treatment|therapy|remedy|cure|medicine|medication|drug)s?"
_TREATING = rf"(?:to (?:treat|cure|heal)|(?:for|in) treating|(?:as|in) (?:an? |the )?{_REMEDY} (?:for|of)|against)"
_GIVEN = r"(?:used|given|prescribed|recommended|taken|indicated|effective|helpful|good|administered)"
_HELP = r"(?:treat|cure|heal|relieve|help against|help with|help|work against)"
_DOCTORS = r"(?:(?:the |our )?doctors|we|they|you)"
_TREATMENTS = (
    rf"{_BE} (?P<value>.+?) {_OFTEN}{_GIVEN} (?:{_TREATING}|for) (?P<subject>.+)",
    rf"{_BE} (?P<value>.+?) {_OFTEN}(?:an? |the |one )?(?:\w+ )??{_REMEDY} (?:for|of|against|in) "
    r"(?P<subject>.+?)(?: cases| patients)?",
    rf"{_BE} (?P<subject>.+?) {_OFTEN}(?:treated|cured|healed|managed) (?:with|by|using|through) (?P<value>.+)",
    rf"{_DO} (?P<value>.+?) {_OFTEN}{_HELP} (?P<subject>.+)",
    rf"{_BE} {_PATIENTS} (?P<subject>.+?) {_OFTEN}(?:treated with|given|prescribed) (?P<value>.+)",
    rf"{_DO} {_DOCTORS} {_OFTEN}(?:prescribe|give|recommend|use) (?P<value>.+?) (?:for|{_TREATING}) (?P<subject>.+)",
    rf"{_DO} {_DOCTORS} {_OFTEN}(?:treat|cure|manage) (?P<subject>.+?) (?:with|by|using) (?P<value>.+)",
)
_SIGN = r"(?:symptom|sign|complaint|feature|effect)s?"
_HAVE = r"(?:have|get|feel|report|suffer from|complain (?:of|about)|experience|show|notice|develop|receive|take)"
_CAUSE = r"(?:cause|causes|bring|produce|lead to|come with|include|involve|result in|have)"
_OTHERS = (
    rf"{_BE} (?P<value>.+?) {_OFTEN}(?:an? |the |one |among the )?(?:\w+ )??{_SIGN} (?:of|in|for) (?P<subject>.+)",
    rf"{_DO} {_PATIENTS} (?P<subject>.+?) {_OFTEN}{_HAVE} (?P<value>.+)",
    rf"{_DO} (?P<subject>.+?) {_OFTEN}{_CAUSE} (?P<value>.+)",
)
_RECEIVED = re.compile(r"\b(?:get|receive|take)\b")
_FRAME = frozenset("patient people note document record use mention symptom sign common usual".split())
NEGATIONS = frozenset(
    "no not never without nor denies denied excludes excluded isn't aren't wasn't doesn't don't".split()
)


@dataclass(frozen=True)
class Claim:
    """The claim of a yes/no question.

    Attributes:
        subject: the words of the subject; empty if the question has no known form.
        value: the words that are claimed of the subject; all words of the question if it has no known form.
        open: the open question for the value, if it asks for a treatment; empty if the documents alone decide.
        received: whether the value may be a treatment that a patient received.
        without: whether the value itself has a negation: "cuts that do not bleed".
        negated: whether the question denies its claim: "Is tea not used to treat ...?" Voters abstain on such a
            question.
    """

    subject: tuple[str, ...]
    value: tuple[str, ...]
    open: str = ""
    received: bool = False
    without: bool = False
    negated: bool = False


def claim_of(question: str) -> Claim:
    """Return the claim of a yes/no question."""
    text = " ".join(plain_question(question).replace("\u2019", "'").split()).rstrip(" ?.!")
    sentence = re.split(r"(?<=[.?!]) ", text)[-1]
    for treats, patterns in ((True, _TREATMENTS), (False, _OTHERS)):
        for pattern in patterns:
            match = re.fullmatch(pattern, sentence, re.IGNORECASE)
            subject, value = (content(match[name]) for name in ("subject", "value")) if match else (None, None)
            if match and subject and value:
                open_ = f"What is the treatment for {match['subject']}?" if treats else ""
                received = treats or bool(_RECEIVED.search(sentence))
                without = _denies(words_of(match["value"])[1:-1])
                inside = [*words_of(match["subject"])[1:-1], *words_of(match["value"])[1:-1]]
                negated = _denies(words_of(sentence)[1:]) > _denies(inside)
                return Claim(subject, value, open_, received, without > 0, negated)
    return Claim((), content(text), negated=_denies(words_of(sentence)[1:]) > 0)


def _denies(words: list[str]) -> int:
    """Return the number of negations among the words."""
    return sum(word in NEGATIONS for word in words)


def content(text: str) -> tuple[str, ...]:
    """Return the content words of a phrase, without their endings, each once."""
    kept = (word for word in words_of(text) if word not in STOP_WORDS and word not in LABELS)
    bare = (stem(part) for word in kept for part in word.split("-"))
    return tuple(dict.fromkeys(word for word in bare if word not in _FRAME))


def stem(word: str) -> str:
    """Return a word without its ending."""
    for ending in ("ments", "ment", "ings", "ing", "ed", "es", "s"):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) > 2:
            word = word[: -len(ending)]
            break
    return word.rstrip("e") if len(word) > 3 else word


_PLEASE = r"(?:please |kindly )?"
_TELL = (
    rf"(?:{_PLEASE}(?:(?:can|could|would|will) you )?{_PLEASE}(?:tell (?:me|us)|say|check|confirm|find out|see|look up)"
    r"|(?:i|we)(?:'d| would) like to know|(?:i|we) (?:want|need) to know|i wonder|do you (?:happen to )?know)"
)
_TRUE = r"(?:true|right|correct|so|the case)"
_NOTES = r"(?:(?:the|our|these|my|all) )?(?:notes|documents|records|letters|files|texts|data)"
_THINK = r"(?:i (?:think|thought|believe|guess|assume|heard|read)|we (?:think|believe)|it seems)(?: that)?"
_RIGHT = rf"(?:(?:is|was) (?:that|this|it) {_TRUE}|am i (?:right|correct)|right|correct)"
_TAG = rf"(?:{_RIGHT}|(?:is|are|do|does)(?:n't)? (?:it|they))"
_STATED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_TELL} (?:if|whether) (?P<said>.+)",
        rf"(?:is it {_TRUE}|am i (?:right|correct)(?: in (?:thinking|saying))?) that (?P<said>.+)",
        rf"do(?:es)? {_NOTES} (?:say|state|show|mention) that (?P<said>.+)",
        rf"{_THINK} (?P<said>[^.?!]+)[.,;] {_RIGHT}",
        rf"(?P<said>[^.?!]+), {_TAG}",
    )
)
"""Forms that have a statement in them."""
_WHAT = re.compile(
    r"(?:would|is|are|was|were|will) (?P<value>.+?) (?:be )?what (?P<who>(?:the |our )?(?:patients|people) with .+?) "
    r"(?:get|receive|take|are given)",
    re.IGNORECASE,
)
_WRAPPED_BE = re.compile(r"(?P<who>.+?) (?P<be>is|are|was|were|can|could|should|may|will) (?P<rest>.+)", re.IGNORECASE)
_VERB = re.compile(
    r"(?P<who>(?:(?!\bha(?:s|ve|d)\b).)+?) "
    r"(?P<verb>help|treat|cure|heal|relieve|cause|get|receive|take|include|come)(?P<one>s?) (?P<rest>.+)",
    re.IGNORECASE,
)
_WRAPPED_HAVE = re.compile(r"(?P<who>.+?) ha(?P<one>s|ve) (?!(?:been|had|not) )(?P<rest>.+)", re.IGNORECASE)


@lru_cache(maxsize=256)
def plain_question(question: str) -> str:
    """Return the yes/no question that a text asks, without what is around it; the text itself if it has no such form.

    Args:
        question: the text of a question, of any kind.
    """
    text = " ".join(question.replace("\u2019", "'").split()).rstrip(" ?.!")
    for form in _STATED:
        if (match := form.fullmatch(text)) and (inner := _asked(match["said"])):
            return f"{inner}?"
    if what := _WHAT.fullmatch(text):
        return f"Are {what['who']} given {what['value']}?"
    return question


def _asked(said: str) -> str:
    """Return the question of a statement, "Is X treated" for "X is treated"; "" if its verb is unknown."""
    if match := _WRAPPED_BE.fullmatch(said):
        return f"{match['be'].capitalize()} {match['who']} {match['rest']}"
    if match := _VERB.fullmatch(said):
        return f"{'Does' if match['one'] else 'Do'} {match['who']} {match['verb']} {match['rest']}"
    if match := _WRAPPED_HAVE.fullmatch(said):
        return f"{'Does' if match['one'] == 's' else 'Do'} {match['who']} have {match['rest']}"
    return ""


ALIKE = 0.8
"""The least likeness of a vote to a candidate that it is taken for: small models misspell rare names."""


def candidates_of(proposed: Iterable[str], form: Callable[[str], str], question: str, most: int) -> tuple[str, ...]:
    """Return the canonical forms of proposed answers, each once, in their order, and at most `most`.

    Answers without content are left out, and so are those whose words all stand in the question.

    Args:
        proposed: public answers.
        form: returns the canonical form of an answer, as for votes.
        question: the question.
        most: the largest number of candidates.
    """
    question_words = frozenset(words_of(question))
    forms = (form(answer) for answer in proposed)
    return tuple(dict.fromkeys(found for found in forms if found and not question_words.issuperset(words_of(found))))[
        :most
    ]


def named_candidate(vote: str, answer: str, candidates: tuple[str, ...], question: str) -> str:
    """Return the candidate that a voter's answer names, or nearly spells; its own vote if there is none.

    Args:
        vote: the canonical form of the answer.
        answer: the answer of one voter.
        candidates: canonical forms of public answers.
        question: the question.
    """
    if not candidates or vote in candidates:
        return vote
    number = choice(answer, candidates, question)
    if number is not None:
        return candidates[number]
    likeness = [SequenceMatcher(None, vote, candidate, autojunk=False).ratio() for candidate in candidates]
    best = max(likeness)
    return candidates[likeness.index(best)] if vote and best >= ALIKE else vote


def without_choices(question: str, choices: Sequence[str]) -> str:
    """Return a question without the public choices that it names; the question itself if it names fewer than two.

    "Is X treated with A or with B?" is decided by the documents about X, and many others may be about A or B.
    """
    left, named = question, 0
    for one in sorted(choices, key=len, reverse=True):
        left, times = re.subn(rf"(?<!\w){re.escape(one)}(?!\w)", " ", left, flags=re.IGNORECASE)
        named += times > 0
    return " ".join(left.split()) if named > 1 and content(left) else question


# --- the words that a voter's answer and its own records share --------------------------------------------------------
# One vote for one answer in different phrases. Privacy-spec, part 5b ("grounded"): "The song is by B. J. Thomas" and
# "B. J. Thomas sang it" are one vote, "b j thomas", if both records name him. What stands in no record of the voter is
# no vote. The form depends on the question, which is public, and on one voter's records and answer alone.


def shared_words(answer: str, texts: Sequence[str], question: str) -> str:
    """Return the longest run of words of an answer that stands in one of the texts, the first of several.

    Words of the question, articles and stop words at its ends are left out before the lengths are compared. Returns ""
    if nothing is left.

    Args:
        answer: the answer of a voter; its first sentence counts.
        texts: the voter's records.
        question: the question.
    """
    said = words_of(first_sentence(answer))
    question_forms = frozenset(form for word in words_of(question) for form in (word, strip_plural(word)))
    longest: list[str] = []
    for text in texts:
        for start, end in _runs(said, words_of(text)):
            run = _trimmed(said[start:end], question_forms)
            if len(run) > len(longest):
                longest = run
    return " ".join(longest)


def _runs(said: list[str], record: list[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each run of `said` that stands in `record`, and in no longer run.

    The time follows from the lengths alone, and not from how often a word of one record comes back.
    """
    text, end = f" {' '.join(record)} ", 0
    for start in range(len(said)):
        before, end = end, max(end, start)
        while end < len(said) and f" {' '.join(said[start : end + 1])} " in text:
            end += 1
        if end > max(before, start):
            yield start, end


def _trimmed(run: list[str], asked: frozenset[str]) -> list[str]:
    def is_empty(word: str) -> bool:
        return word in asked or strip_plural(word) in asked or word in ARTICLES or word in LINKS or word in STOP_WORDS

    kept = [index for index, word in enumerate(run) if not is_empty(word)]
    return run[kept[0] : kept[-1] + 1] if kept else []

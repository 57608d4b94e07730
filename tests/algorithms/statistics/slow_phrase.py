"""What a phrase holds of, said slowly: every sentence of a text is read in whole, and nothing is looked for first."""

import re
import unicodedata
from collections.abc import Callable

from discreet.algorithms.text.phrases import Tongue, words_back
from discreet.statistics.phrase import Phrase

Form = Callable[[str], str]
"""Returns the word of a phrase, without its ending, that a word of a text says; "" if it says none."""
_UNSEEN = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]|(?<=\w)[-\u2010]\s*\n\s*(?=[^\W\d_])")
_AT_THE_END = re.compile(r"(?<=\w)[-\u2010]\s*\n\s*(?=\w)")
_TITLE = re.compile(r"\b(mr|mrs|ms|dr|prof|st)\.(?=\s)", re.IGNORECASE)
_MARKS = re.compile(r"[.!?;:()\[\]]+|\n")
_WORD = re.compile(r"\w+(?:['.&+]\w+)*|,")
_TOKEN = re.compile(r"\w+(?:['.&]\w+)*|,|(?<=\w)[-\u2212\u2013](?![\w-])|[^\w\s,\u2013-]")
_SKIPPED = frozenset(
    "a an the their his her its my our your himself herself themselves is are was were be been being has have had "
    "having do does did that which who of in at to for with by from about into onto".split()
)


def says(phrase: Phrase, text: str) -> bool:
    """Return whether a text says a phrase, and does not deny it; a word that a line breaks is read in two ways."""
    return any(_says_as_read(phrase, read(one)) for one in (text, _AT_THE_END.sub("-", text)))


def read(text: str) -> str:
    """Return a text as a person reads it."""
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text))


def split(text: str) -> list[str]:
    """Return the sentences of a text."""
    found, start = list[str](), 0
    for mark in _MARKS.finditer(text):
        end = mark.end()
        if end == len(text) or text[end].isspace() or set(mark[0]) & set("()[];\n"):
            found.append(text[start : mark.start()])
            start = end
    return [*found, text[start:]]


def _says_as_read(phrase: Phrase, text: str) -> bool:
    form = _forms_in(phrase, text)
    answered = re.sub(r"(?i):[ \t]*(none|nil|no|neg|negative|denied|absent)(?=[ \t]*([.,;\n]|\Z))", " denied", text)
    heading = r"(?i)\b(fh|fhx|family history|family hx|fa|familienanamnese)(:| of| for)[ \t]*(?=\S)"
    had = {"de": "mutter hatte ", "fr": "mère avait ", "es": "madre tenía "}.get(phrase.language, "mother had ")
    whole = phrase._tongue.plain(_TITLE.sub(r"\1", re.sub(heading, had, answered))).replace("\u2019", "'")
    if phrase._name:
        whole = phrase._name.sub(lambda _: re.sub(r"[.:;!?](?=\s)", "", phrase._said), whole)
    spans = [(_in_order if phrase._ordered else _close)(phrase, one, form) for one in split(whole)]
    return any(not _is_denied(*span, phrase) and not _is_of_relative(*span[:2], phrase) for span in spans if span)


def _forms_in(phrase: Phrase, text: str) -> Form:
    """Return the form of a word that is compared with a phrase: an abbreviation keeps its letters, as it is written."""
    asked = {one: _short(one, phrase._said) for one in re.findall(r"\w+(?:['.&+]\w+)*", phrase._said)}
    asked |= {one: _short(one, phrase._said) for one in phrase._ordered}
    stem = phrase._tongue.stem

    def form(word: str) -> str:
        same = [one for one, short in asked.items() if word.casefold() in (one.casefold(), short.casefold())]
        if not same and (base := _short(word, text)):
            same = [one for one, short in asked.items() if base.casefold() in (one.casefold(), short.casefold())]
        elif not same:
            same = [one for one, short in asked.items() if not short and stem(one.casefold()) == stem(word.casefold())]
        return stem(same[0].casefold()) if same else ""

    return form


def _short(word: str, text: str) -> str:
    """Return an abbreviation without a plural's small s; "" for another word, or if all of a text is in capitals."""
    base = re.sub(r"s\Z", "", word)
    shouted = text == text.upper() != text.lower() and any(len(one) > 4 for one in _WORD.findall(text))
    return base if re.fullmatch(r".{2,4}", base) and base == base.upper() != base.lower() and not shouted else ""


def _is_of_relative(sentence: list[str], start: int, phrase: Phrase) -> bool:
    """Return whether the last verb before a phrase is what a relative has; "with" belongs to what stands before it."""
    tongue, withs = phrase._tongue, ("with", "mit", "avec", "con")
    if tongue.relatives & set(re.findall(r"\w+(?:['.&+]\w+)*|,", phrase._said.casefold())):
        return False
    near = range(max(0, start - 20), start)
    verbs = [at for at in near if at and sentence[at] in tongue.having | tongue.ends]
    own = [at for at in verbs if sentence[at - 1] in tongue.relatives]
    closing = [at for at in near if sentence[at] in (tongue.having | tongue.ends) - set(withs)]
    if not own or (closing and closing[-1] > own[-1]):
        return False
    after, before = sentence[own[-1] + 1 : start][:1], sentence[max(0, own[-1] - 3) : own[-1] - 1]
    told = after and (
        after[0][-2:] == "ed"
        or after[0] in "been brought found given seen said told taken to him her them concerns questions".split()
    )
    whose = "her his their patient's pt's ihre seine deren dessen sa su , .".split()
    if sentence[own[-1]] in withs and own[-1] > 1 and sentence[own[-1] - 2] not in whose:
        return False
    others = "with mit avec con by to from my von bei durch zu par chez por de".split()
    return sentence[own[-1]] in tongue.having and not told and not set(before) & set(others)


def _close(phrase: Phrase, sentence: str, form: Form) -> tuple[list[str], int, int] | None:
    """Return the first place where the words of a phrase stand close together, in any order."""
    stems = list(map(form, _WORD.findall(sentence)))
    words = list(map(str.casefold, _WORD.findall(sentence)))
    for start in range(len(words)):
        missing, room = set(phrase.words), 3
        if stems[start] not in missing:
            continue
        for at in range(start, len(words)):
            if stems[at] in missing:
                missing.remove(stems[at])
            elif words[at] in (",", "and", "or", "but"):
                room -= 3 if missing == set(phrase.words[len(phrase.words) - len(missing) :]) else 4
            elif words[at] not in phrase._tongue.empty:
                room -= 1
            if room < 0:
                break
            if not missing:
                return words, start, at + 1
    return None


def _in_order(phrase: Phrase, sentence: str, form: Form) -> tuple[list[str], int, int] | None:
    """Return the first place where the words and signs of a phrase stand in their order."""
    tokens = _TOKEN.findall(sentence)
    for start in range(len(tokens)):
        end = _end(phrase, tokens, start, form)
        if end is not None:
            counted = [place for place, one in enumerate(tokens) if one == "," or one[0].isalnum()]
            first, last = (sum(place < here for place in counted) for here in (start, end))
            return [tokens[place].casefold() for place in counted], first, last
    return None


def _end(phrase: Phrase, tokens: list[str], at: int, form: Form) -> int | None:
    for number, wanted in enumerate(phrase._ordered):
        tight = number > 0 and (len(wanted) == 1 or not phrase._ordered[number - 1][0].isalnum())
        room = 0 if tight or number == 0 else 3
        while at < len(tokens) and not _same(phrase._tongue, tokens[at:], wanted, form):
            small = number and tokens[at].casefold() in _SKIPPED and not tight
            if not small and not (room and tokens[at][0].isalnum()):
                return None
            room, at = room if small else room - 1, at + 1
        if at == len(tokens):
            return None
        at += 1
    return at


def _same(tongue: Tongue, tokens: list[str], wanted: str, form: Form) -> bool:
    token = tokens[0]
    if wanted in ("a", "A", "i", "I"):
        last = len(tokens) == 1 or not tokens[1][0].isalnum()
        return token == wanted.upper() or (token == wanted.lower() and last)
    if not wanted[0].isalnum():
        return token == wanted or (wanted in "-\u2212\u2013" and token in "-\u2212\u2013")
    return form(token) == tongue.stem(wanted.casefold())


def _is_in_denied_list(before: list[str]) -> bool:
    """Return whether the last of "denies", "no" and words that end a list is one of the first two; commas end "no"."""
    ends = "but however although though except yet has had have having reports reported complains complained presents "
    ends += "presented admits is was are were now takes took since started"
    for place in range(len(before) - 1, max(-1, len(before) - 21), -1):
        if before[place] in ends.split():
            return False
        if before[place] in ("denies", "denying", "deny"):
            return True
        joins = [one for one in before[place:] if one in (",", "and", "or", "nor")]
        if before[place] == "no" and (not joins or joins[-1] in ("or", "nor")):
            return True
    return False


def _is_denied(sentence: list[str], start: int, end: int, phrase: Phrase) -> bool:
    tongue = phrase._tongue
    if tongue.lists and _is_in_denied_list(sentence[:start]):
        return True
    if tongue.negations & {*words_back(sentence[max(start - 3, 0) : start])}:
        return True
    for place, word in enumerate(sentence[end : end + 2], end):
        if word == "," or word in tongue.joins:
            break
        if word in tongue.negations:
            after = sentence[place + 1 : place + 2] if place < end + 2 else []
            if word not in tongue.forward or not after or after[0] == "," or after[0] in tongue.joins:
                return True
            break
    return bool(tongue.negations & set(sentence[start:end])) != phrase.has_negation

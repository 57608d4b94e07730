"""Words of questions, answers and commands: what makes two questions the same, the word for a unit, one of a shell."""

import math
import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping

EMPTY = "No answer: the model wrote nothing."
LONGEST_TURN, LONGEST_CONDENSED = 600, 500
"""Characters: of a message that is read to rewrite a follow-up question, and of the rewritten question."""
MOST_TURNS = 8
"""The most messages that are read for that, the question included."""


def unit_word(field: str) -> str:
    """Return the word for one individual, from the name of the field that names it: "patient" for "patient_id".

    A name of several individuals, in English or German, gives "unit": "patients", "Patienten Nr".
    """
    named = re.sub(r"(?i)[\W_]+(id|ids|no|nr|number|key|name)$", "", field)
    word = re.sub(r"[\W_]+", " ", named).strip()
    several = re.search(r"(?i)(?<![isu])s$" if named == field else r"(?i)(?<![isu])s$|en$", word)
    return "unit" if several or not word else word


def nothing_released(field: str) -> str:
    """Return the sentence for a question without a released answer."""
    return f"No answer: too few of the {unit_word(field)}s' notes agree (or could pay)."


def could_not_pay(unable: int | None) -> str:
    """Return the note of an answer for which so many units at most could not pay; "" if all could."""
    if unable == 0:
        return ""
    some = "Units" if unable is None else f"Up to {unable:,} units" if unable > 1 else "Up to 1 unit"
    return f"Note: {some} had no part in this: earlier questions may have used up their grant."


def who_said_so(support: Mapping[str, int | None]) -> str:
    """Return how many units gave an answer, from the plain data of its `Support`."""
    among = f" of about {support['of']}" if support["of"] else ""
    if support["count"] is None:
        return f"at least {support['low']}{among}"
    return f"about {support['count']}{among}; between {support['low']} and {support['high']}"


def part_of_grant(epsilon: float, granted: float, uses: int | None, unit: str) -> str:
    """Return what an answer cost each unit: epsilon by itself, and the part of the grant, in questions like it."""
    return f"The answer cost each {unit} at most epsilon {epsilon:.4g} of {granted:g}{such_questions(uses)}."


def such_questions(uses: int | None) -> str:
    """Return which part of a grant a question is that so many times fits into it: empty if not known, or none."""
    return "" if not uses else f": 1 of {uses:,} such questions" if uses > 1 else ": the only such question"


def percent(part: float) -> str:
    """Return a part of 1 as a percentage, with a digit after the point where it is small."""
    return f"{100 * part:.1f} %" if 0 < part < 0.095 else f"{100 * part:.0f} %"


def percent_at_most(share: float) -> str:
    """Return a share in percent, rounded up: the text must not be below the bound."""
    for digits in range(4):
        up = math.ceil(share * 100 * 10**digits) / 10**digits
        if up < 100:
            return f"{up:.{digits}f} %"
    return "100 %"


def can_still_take_part(still: Mapping[str, int], unit: str, accountant: str) -> str:
    """Return what the bound on all questions means for those that a unit in all of them can still take part in.

    Args:
        still: the numbers of further questions by their kind: "default", and "count".
        unit: the word for a unit.
        accountant: the way in which the grant adds up costs (`Budget.accountant`).
    """
    kinds = {"default": ("question of the default kind", "questions of the default kind"), "count": ("count", "counts")}
    fits = ", or in ".join(f"{number:,} further {kinds[name][number != 1]}" for name, number in still.items())
    grows = "" if accountant == "pure" else "The first questions weigh most in this number, later ones little. "
    return f"{grows}A {unit} that took part in all of them can still take part in {fits}."


def how_spent_is_read(whose: str, fixed: str, accountant: str = "renyi") -> str:
    """Return what the epsilon is that several questions have spent: it is not the sum of their receipts.

    Args:
        whose: of whom the questions are, such as "the key".
        fixed: what fixes the way in which costs add up, such as "cap".
        accountant: that way (`Budget.accountant`).
    """
    read = f"What is spent is read of all questions of {whose} together, in a way that was fixed with the {fixed}. "
    if accountant == "pure":
        return f"{read}It is at most the sum of their receipts."
    return (
        f"{read}After one question it is the receipt or more. After many it is mostly far less than the sum of the "
        "receipts."
    )


_OPENING = re.compile(
    r"(?:(?:please|kindly|hello|hi)\b[\s,.!]*|(?:can|could|would|will) you (?:please )?tell (?:me|us)\b[\s,:]*"
    r"|tell (?:me|us)\b[\s,:]*)+"
)
_CLOSING = (" please", " thank you", " thanks")
_TOKEN = re.compile(r"\w+(?:'\w+)*|[^\w\s]")


def essence(question: str) -> tuple[str, ...]:
    """Return the words and marks of a question in order, without case, polite words around it and its last mark.

    Nothing else is left out: "a" is a letter in "hepatitis A", and "on dialysis" is not "dialysis".
    """
    text = " ".join(question.replace("\u2019", "'").casefold().split()).rstrip(" .?!\u2026")
    while text.endswith(_CLOSING):
        text = next(text.removesuffix(one) for one in _CLOSING if text.endswith(one)).rstrip(" ,.?!\u2026")
    opening = _OPENING.match(text)
    return tuple(_TOKEN.findall(text[opening.end() :] if opening else text))


_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]")
_BROKEN = re.compile(r"[-\u2010](?<=\w.)[^\S\n]*+\n\s*+(?=[^\W\d_])")


def as_read(text: str) -> str:
    """Return a text as a person reads it: each letter in its one form, no invisible signs, no word broken by a line."""
    whole = unicodedata.normalize("NFKC", text)
    if "\n" in whole:
        whole = _BROKEN.sub("", whole)
    return whole if whole.isascii() else _INVISIBLE.sub("", whole)


def is_unicode(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8, so whether it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def counted(number: int, what: str) -> str:
    """Return a number with its noun, in the plural if the number is not 1."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def quoted(word: object) -> str:
    """Return a path, a name or a column as one word of a shell."""
    return shlex.quote(str(word))


def minute(moment: str) -> str:
    """Return a moment to the minute: "2026-03-01 10:02"."""
    return moment[:16].replace("T", " ")


def minutes(moments: Iterable[str]) -> list[str]:
    """Return moments to the minute, in order, each once."""
    return sorted(set(map(minute, moments)))

"""The keywords of an answer: which words it has, whatever their order, case and number.

Each answer is read by itself, so that one answer cannot change another's words. DP-KSA counts the tokens of a model
or "word tokens"; whole words are the same for every model, and can be shown.
"""

import re
from unicodedata import category, normalize

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
"""English function words, public: in every answer, and no help to the next one."""

_SAME = str.maketrans({"’": "'", "\N{FRACTION SLASH}": "/"})
_NOT_IN_A_NUMBER = re.compile(r"(?<!\d)[.,:/]|[.,:/](?!\d)")
_POSSESSIVE = re.compile(r"'s(?!\w)")
_NOT_IN_A_WORD = re.compile(r"(?<!\w)'|'(?!\w)")


def keywords(answer: str) -> frozenset[str]:
    """The words of an answer without those that say nothing.

    - Unicode is brought to NFKC and case folded; invisible characters (soft hyphens, joiners) are dropped.
    - A word is a run of letters, their marks, digits, and apostrophes between them. Everything else, hyphens too,
      separates words. A possessive 's is dropped.
    - Numbers are kept, with points, commas, colons and slashes between digits: "3.5", "10,000", "12:30".
    - `STOP_WORDS` are left out. Words are not stemmed: "thumb" and "thumbs" are two.
    """
    text = normalize("NFKC", normalize("NFKC", answer).casefold()).translate(_SAME)
    text = _POSSESSIVE.sub("", _NOT_IN_A_NUMBER.sub(" ", "".join(map(_kept, text))))
    return frozenset(_NOT_IN_A_WORD.sub(" ", text).split()) - STOP_WORDS


def _kept(character: str) -> str:
    """The character itself, a space in its place, or nothing."""
    kind = category(character)
    if kind == "Cf":
        return ""
    return character if kind[0] in "LMN" or character in ".,:/'" else " "

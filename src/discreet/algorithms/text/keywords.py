"""The keywords of an answer: its words, regardless of order, case and number.

Each answer is parsed on its own, so that one answer cannot change another's words. DP-KSA counts the tokens of a model
or "word tokens". Whole words are the same for every model, and readable.
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
"""English function words: public, in every answer, and without information for the next one."""

_SAME = str.maketrans({"’": "'", "\N{FRACTION SLASH}": "/"})
_NOT_IN_A_NUMBER = re.compile(r"(?<!\d)[.,:/]|[.,:/](?!\d)")
_POSSESSIVE = re.compile(r"'s(?!\w)")
_NOT_IN_A_WORD = re.compile(r"(?<!\w)'|'(?!\w)")


def keywords(answer: str) -> frozenset[str]:
    """Return the words of an answer without stop words.

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

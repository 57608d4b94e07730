"""The canonical spelling of names, so that an individual whose name has several spellings is one unit.

An individual with two units would have two budgets. Two individuals with the same canonical spelling share one budget:
they are protected together, and erased together.
"""

import re
import unicodedata

# Invisible characters outside category Cf: joiners of marks, and variation selectors.
_UNSEEN = re.compile("[\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_FORMULA = re.compile(r'="([^"]*)"')
_WHOLE_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.0*)?")


def canonical_name(name: str) -> str:
    """Return a name in Unicode's composed form, without white space around it."""
    return unicodedata.normalize("NFC", name).strip()


def canonical_unit(name: str) -> str:
    """Return the canonical spelling of a unit's name: without case, with single spaces, without invisible characters.

    Unicode's compatibility forms are unified (NFKC), also after case folding: "ΜΑΪ́Α" is "Μαΐα". Format characters
    (category Cf) and variation selectors are dropped. A whole number has one spelling: "7.0", "7.00" and "+7" are "7".
    Accents are kept, so Greek capitals without accents are another name. Leading zeros ("007") are kept, also if a
    table protects them from spreadsheets (`="007"`).
    """
    before, spelled = None, name
    while spelled != before:
        before = spelled
        seen = "".join(char for char in _UNSEEN.sub("", spelled) if unicodedata.category(char) != "Cf")
        folded = unicodedata.normalize("NFKC", seen).casefold()
        spelled = " ".join(unicodedata.normalize("NFKC", folded).split())
        spelled = formula[1] if (formula := _FORMULA.fullmatch(spelled)) else spelled
    number = _WHOLE_NUMBER.fullmatch(spelled)
    if number is None:
        return spelled
    sign, digits = number.groups()
    return f"-{digits}" if sign == "-" and digits != "0" else digits

"""How a name is spelled: one individual whose name is spelled in several ways stays one unit.

Two units that are one individual would have two budgets. Two individuals whose names are spelled alike by this rule
share one budget: they are protected together, and erased together.
"""

import re
import unicodedata

# Characters that nothing shows and that category Cf does not hold: joiners of marks, and variation selectors.
_UNSEEN = re.compile("[\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_FORMULA = re.compile(r'="([^"]*)"')
_WHOLE_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.0*)?")


def canonical_name(name: str) -> str:
    """A name in Unicode's composed form, without white space around it."""
    return unicodedata.normalize("NFC", name).strip()


def canonical_unit(name: str) -> str:
    """Spell a unit's name as vaults do: without case, with single spaces, and without characters that nothing shows.

    Unicode's compatibility forms are one (NFKC), also after letters lose their case: "ΜΑΪ́Α" is "Μαΐα". Format
    characters (category Cf) and variation selectors are dropped. A whole number has one spelling: "7.0", "7.00" and
    "+7" are "7". Accents are kept, so Greek capitals without them are another name; so are leading zeros ("007"), also
    where a table protects them from spreadsheets (`="007"`).
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


def former_unit(name: str) -> str:
    """Spell a unit's name as vaults of format 2 did, whose ledgers know units by that spelling."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def former_units(name: str) -> tuple[str, ...]:
    """Name the other spellings under which a ledger of before may know a unit that comes by this name.

    They are its own, and for a whole number the one that tables with gaps have ("7.0").
    """
    spelled = canonical_unit(name)
    found = {former_unit(name)} | ({f"{spelled}.0"} if _WHOLE_NUMBER.fullmatch(spelled) else set())
    return tuple(sorted(found - {spelled}))

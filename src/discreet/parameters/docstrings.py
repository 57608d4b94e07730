"""Read the descriptions of attributes from the docstring of a class.

The section has Google's form: "Attributes:", then "name: text" in each line. Two names may share an entry ("highest,
lowest: text"). The first name in parentheses is the symbol of the paper: "the threshold of relevance (tau)".
"""

import inspect
import re

_SECTION = re.compile(r"(?:Attributes|Parameters|Args):\s*")
_ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*)(?: \([^)]*\))?: *(?P<text>.*)")
_GREEK = "alpha|beta|gamma|delta|epsilon|eta|theta|kappa|lambda|mu|nu|pi|rho|sigma|tau|phi|chi|psi|omega"
_SYMBOL = rf"(?:[A-Za-z]|\w+_\w+|{_GREEK}|{_GREEK.title()})"
_NAMED = re.compile(rf"\((?:the paper's )?({_SYMBOL}(?: and {_SYMBOL})?)(?: of [\w-]+)?\)|the paper's ({_SYMBOL})\b")


def read_attributes(kind: type) -> dict[str, str]:
    """Return the description of each attribute from the docstrings of a class and its bases. The class comes first."""
    texts: dict[str, str] = {}
    for base in kind.__mro__:
        for name, text in _entries(inspect.cleandoc(base.__dict__.get("__doc__") or "")).items():
            texts.setdefault(name, text)
    return texts


def find_symbol(text: str, position: int = 0, names: int = 1) -> str:
    """Return the symbol of the paper that a text names; "" if it names none.

    Args:
        text: the description of an attribute.
        position: the attribute's position among those that share the text.
        names: the number of attributes that share the text.
    """
    found = _NAMED.search(text)
    if found is None:
        return ""
    symbols = (found[1] or found[2]).split(" and ")
    return symbols[position] if len(symbols) == names else symbols[0]


def read_symbols(kind: type) -> dict[str, str]:
    """Return the symbol of the paper for each attribute that has one."""
    texts = read_attributes(kind)
    shared: dict[str, list[str]] = {}
    for name, text in texts.items():
        shared.setdefault(text, []).append(name)
    symbols = {
        name: find_symbol(text, position, len(names))
        for text, names in shared.items()
        for position, name in enumerate(names)
    }
    return {name: symbol for name, symbol in symbols.items() if symbol}


def _entries(doc: str) -> dict[str, str]:
    """Return the entries of the section on attributes, each on one line."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    inside, margin = False, 0
    for line in doc.splitlines():
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if _SECTION.fullmatch(line):
            inside, margin = True, 0
        elif inside and text and not indent:
            inside = False
        elif inside and text:
            margin = margin or indent
            entry = _ENTRY.fullmatch(text) if indent == margin else None
            if entry:
                current = [entry["text"]]
                found |= dict.fromkeys(entry["names"].split(", "), current)
            else:
                current.append(text)
    return {name: " ".join(part for part in parts if part) for name, parts in found.items()}

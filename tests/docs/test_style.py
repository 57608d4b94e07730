"""The style of the documentation: one sentence a line, short lines, plain words."""

import re
from collections.abc import Iterator

import pytest

from tests.docs.pages import PAGES, Page

LONGEST = 160
BANNED = (
    *(
        "somebody",
        "someone",
        "everybody",
        "everyone",
        "nobody",
        "anybody",
        "anyone",
        "whoever",
        "what it says",
        "as it is",
    ),
    *("that there is none", "that there are none", "all the same", "next to nothing", "whatever the", "too dear"),
)
_END = re.compile(r"(?<!et al)(?<!\bDr)(?<!\bMs)(?<!e\.g)[.!?][\"”)]*\s+(?=[A-Z\[`*(])")
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
STYLED = [Page(path) for path in PAGES]


def lines_of_prose(page: Page) -> Iterator[tuple[int, str]]:
    """The numbered lines of a page, without code, tables, markers of tables and headings."""
    text = _FENCED.sub(lambda block: "\n" * block[0].count("\n"), page.text)
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith(("    ", "|", "#", "<!--")):
            yield number, line


def bare(line: str) -> str:
    """Return a line without its marker in a list, code and the targets of links."""
    line = re.sub(r"^ *(\d+\.|[-*]) ", "", line)
    return re.sub(r"`[^`]*`", "`", re.sub(r"\]\([^)]*\)", "]", line))


def unquoted(line: str) -> str:
    """Return a bare line without what it quotes."""
    return re.sub(r"[\"“][^\"”]*[\"”]", "", bare(line))


@pytest.mark.parametrize("page", STYLED, ids=lambda page: page.name)
def test_lines_are_short(page: Page) -> None:
    long = [number for number, line in lines_of_prose(page) if len(line) > LONGEST]
    assert not long


@pytest.mark.parametrize("page", STYLED, ids=lambda page: page.name)
def test_line_has_one_sentence(page: Page) -> None:
    found = [(number, line) for number, line in lines_of_prose(page) if _END.search(bare(line))]
    assert not found


@pytest.mark.parametrize("page", STYLED, ids=lambda page: page.name)
def test_words_are_plain(page: Page) -> None:
    found = [
        (n, word)
        for n, line in lines_of_prose(page)
        for word in BANNED
        if re.search(rf"\b{word}\b", unquoted(line), re.I)
    ]
    assert not found


def test_style_is_checked() -> None:
    assert _END.search(bare("It is read. The rest is not."))
    assert not _END.search(bare("1. The rest"))

"""The language of the source: docstrings, comments and errors are plain technical English."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"

BANNED = {
    "everybody": "every unit, all units, every user",
    "everyone": "every unit, all units, every user",
    "somebody": "a person, a user, a process",
    "someone": "a person, a user, a process",
    "anybody": "any reader, any process",
    "nobody": "no unit, no user",
    "whoever": "the analyst, the caller, the owner",
    "whatever": "any, all, regardless of",
    "wherever": "at every position",
    "is told": "receives, is called with",
    "are told": "receive, are called with",
    "was told": "received, was called with",
    "as it is": "unchanged",
    "as they are": "unchanged",
    "as it was": "unchanged",
    "as they were": "unchanged",
    "what it says": "its content, its value",
    "that there is none": "no such value exists",
    "gone on with": "resumed",
    "goes on with": "resumes",
    "all the same": "nevertheless",
    "give or take": "plus or minus",
}
"""Words without a clear noun, and phrases of talk, each with what to write in its place."""

NOT_VERBS = frozenset(
    "a an the all any as at both by each every everything for from how if in is it its like many more most no none not "
    "nothing of on one only or same some something so such that their them these they this those to two up what when "
    "where whether which who whose why with without".split()
)
"""Words that begin a docstring which says what a function is, not what it does."""

PROPERTIES = {"property", "cached_property", "setter"}


def rooms() -> list[str]:
    """Return the rooms of the product and of the laboratory, but for the experiments, which were scripts."""
    found = [
        path for package in SOURCE.iterdir() for path in package.iterdir() if path.is_dir() or path.suffix == ".py"
    ]
    return sorted({path.relative_to(SOURCE).as_posix() for path in found} - {"discreet_lab/experiments"})


def modules(room: str) -> list[Path]:
    path = SOURCE / room
    return [path] if path.is_file() else sorted(path.rglob("*.py"))


def comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield bare strings (docstrings of modules, classes, functions and attributes) and the messages of errors."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield (
                node.lineno,
                " ".join(
                    part.value
                    for part in ast.walk(node.exc)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ),
            )


def words_of(path: Path) -> Iterator[tuple[int, str]]:
    source = path.read_text(encoding="utf-8")
    for line, text in (*comments(source), *strings(ast.parse(source))):
        yield line, " ".join(text.split()).lower()


def functions(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the name and the docstring of each function that is not private and is no property."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            decorators = {ast.unparse(decorator).split(".")[-1] for decorator in node.decorator_list}
            found = ast.get_docstring(node)
            if found and not decorators & PROPERTIES:
                yield node.lineno, node.name, found


@pytest.mark.parametrize("room", rooms())
def test_prose_has_no_banned_words(room: str) -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: '{word}'; write: {instead}"
        for path in modules(room)
        for line, text in words_of(path)
        for word, instead in BANNED.items()
        if re.search(rf"\b{word}\b", text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("room", rooms())
def test_function_docstrings_begin_with_a_verb(room: str) -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {name}: {docstring.splitlines()[0]}"
        for path in modules(room)
        for line, name, docstring in functions(path)
        if (re.split(r"[^\w'-]", docstring.lower(), maxsplit=1)[0] or "the") in NOT_VERBS
    ]
    assert not found, "\n".join(found)


def test_language_test_finds_what_it_bans() -> None:
    tree = ast.parse('def f():\n    """What it says."""\n    raise ValueError(f"Nobody has {f}.")\n')
    assert [text for _, text in strings(tree)] == ["What it says.", "Nobody has  ."]
    assert list(comments("x = 1  # everybody\n")) == [(1, "# everybody")]

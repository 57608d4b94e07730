"""Manual pages of all commands, for packages of an operating system.

python -m discreet.cli.man FOLDER      # discreet.1, discreet-ask.1, ... ; read one with: man -l FOLDER/discreet-ask.1
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_group

from discreet import __version__
from discreet.cli.app import app


def write_pages(folder: Path) -> list[Path]:
    """Write a page for `discreet` and for each of its commands. Return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    group = get_group(app)
    context = group.make_context("discreet", [], resilient_parsing=True)
    written = []
    for name, command, above in _walk("discreet", group, context):
        path = folder / f"{name.replace(' ', '-')}.1"
        path.write_text("\n".join(_page(name, command, above)) + "\n", encoding="utf-8")
        written.append(path)
    return written


def _walk(name: str, command: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
    yield name, command, context
    if hasattr(command, "list_commands"):
        for word in command.list_commands(context):
            below = command.get_command(context, word)
            if below is None:  # of a plug-in that cannot be used
                continue
            inner = below.context_class(below, info_name=word, parent=context)
            yield from _walk(f"{name} {word}", below, inner)


def _page(name: str, command: Any, context: Any) -> Iterator[str]:
    summary, *rest = (command.help or "").strip().split("\n\n")
    yield f'.TH "{name.replace(" ", "-").upper()}" 1 "" "discreet {__version__}" "discreet"'
    yield ".SH NAME"
    yield f"{_plain(name.replace(' ', '-'))} \\- {_plain(' '.join(summary.split()).rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f".B {_plain(name)}"
    yield _plain(" ".join(command.collect_usage_pieces(context)))
    if rest:
        yield ".SH DESCRIPTION"
        yield from (f"{_plain(' '.join(part.split()))}\n.PP" for part in rest)
    if options := [record for one in command.get_params(context) if (record := one.get_help_record(context))]:
        yield ".SH OPTIONS"
        for given, meaning in options:
            yield f".TP\n.B {_plain(given)}\n{_plain(meaning)}"
    if hasattr(command, "list_commands"):
        yield ".SH COMMANDS"
        for word in command.list_commands(context):
            yield f".TP\n.BR {_plain(name.replace(' ', '-'))}\\-{_plain(word)} (1)"
    yield ".SH EXIT STATUS"
    yield from (f".TP\n.B {code}\n{meaning}" for code, meaning in _CODES)


_CODES = (
    (0, "Done."),
    (1, "Another error."),
    (2, "Wrong use."),
    (3, "The budget is exhausted."),
    (4, "Bad data."),
    (130, "Interrupted by Ctrl-C."),
)


def _plain(text: str) -> str:
    """Return a text as roff prints it: backslashes and hyphens escaped, no line that begins with a full stop."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def main() -> None:
    """Write the pages into the folder that the command line names."""
    if len(sys.argv) != 2:
        raise SystemExit("Name a folder: python -m discreet.cli.man FOLDER")
    try:
        print(f"Written: {len(write_pages(Path(sys.argv[1])))} pages.")
    except OSError as error:
        raise SystemExit(f"{sys.argv[1]} cannot be written: {error.strerror}. Name another folder.") from error


if __name__ == "__main__":
    main()

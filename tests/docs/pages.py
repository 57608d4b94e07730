"""What stands in the pages of the documentation: commands, code, links, headings."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted(ROOT.glob("docs/**/*.md")))
_COMMAND = re.compile(r" {4,}(?:\.venv/bin/)?discreet ")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Page:
    """A page of the documentation."""

    path: Path

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def name(self) -> str:
        """Its path in the repository."""
        return str(self.path.relative_to(ROOT))

    def commands(self) -> Iterator[list[str]]:
        """The words of each command line of `discreet`, indented or in a block of `sh`, without redirections."""
        yield from (words for words, _ in self.exit_codes())

    def exit_codes(self) -> Iterator[tuple[list[str], int]]:
        """The words of each command line, and the exit code that its comment names, or 0."""
        joined = re.sub(r"\\\n\s*", " ", _FENCED.sub(_indented, self.text))
        for line in joined.splitlines():
            if _COMMAND.match(line):
                code = re.search(r"# .*\bexit code (\d+)$", line)
                words = shlex.split(line, comments=True)[1:]
                ends = [number for number, word in enumerate(words) if word in ("<", ">", "|")]
                yield words[: min(ends, default=len(words))], int(code[1]) if code else 0

    def answers(self) -> dict[str, str]:
        """The first line of the `text` block after each `ask` that stands alone in a block of `sh`, by the question."""
        pairs = re.findall(r"^```sh\n(\S*discreet ask [^\n]+)\n```\n+```text\n([^\n]+)\n", self.text, re.MULTILINE)
        return {shlex.split(command, comments=True)[3]: answer for command, answer in pairs}

    def programs(self) -> Iterator[str]:
        """The files or modules of the repository that an indented command line runs with Python."""
        yield from re.findall(r"^ +\.venv/bin/python (?:-m )?(\S+)", self.text, re.MULTILINE)

    def mentions(self) -> Iterator[str]:
        """What is in a line `as code` and begins as a command of `discreet` does."""
        for span in _SPAN.findall(_FENCED.sub("", self.text)):
            if re.match(r"discreet [a-z]", span):
                yield span

    def paths(self) -> Iterator[str]:
        """The files and folders of the repository that a line names `as code`."""
        yield from (span for span in _SPAN.findall(self.text) if re.match(r"(src|tests|docs)/[\w/.-]+$", span))

    def code(self, language: str) -> list[str]:
        """The fenced blocks of this language."""
        return [text for name, text in _FENCED.findall(self.text) if name == language]

    def links(self) -> Iterator[str]:
        """Where its links lead, but those to the network."""
        bare = _SPAN.sub("", _FENCED.sub("", self.text))
        yield from (target for target in _LINK.findall(bare) if "://" not in target)

    def anchors(self) -> set[str]:
        """The names of its headings, as GitHub and most others make them."""
        return {_slug(line) for line in re.findall(r"^#+ (.*)$", _FENCED.sub("", self.text), re.MULTILINE)}


def _indented(fence: re.Match[str]) -> str:
    return re.sub("^", "    ", fence[2], flags=re.MULTILINE) if fence[1] == "sh" else fence[0]


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")

"""A command recorded as an animated SVG: each line appears when the command had printed it.

    python -m discreet_lab.recording docs/images/demo.svg --seconds 60 -- .venv/bin/discreet demo

It runs without a script, so that a page may embed it. It repeats after a pause.
"""

import argparse
import subprocess
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path

_WIDTH, _HEIGHT, _MARGIN = 7.85, 17, 16
"""The size of a character, and the margin, in pixels."""
_PAUSE = 8.0
"""Seconds for which the last line stays."""


def record(command: Sequence[str]) -> list[tuple[float, str]]:
    """Run a command; return the moments of its lines and of its progress, in seconds from its start, and the lines.

    Raises:
        CalledProcessError: if the command fails.
    """
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        lines = [(time.monotonic() - begin, line.rstrip("\n")) for line in running.stdout]
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    return lines


def draw(title: str, lines: Sequence[tuple[float, str]], seconds: float) -> str:
    """Return the SVG; the last line appears after `seconds`."""
    last = max((moment for moment, _ in lines), default=0.0) or 1.0
    shown = [(0.0, f"$ {title}"), *((moment / last * seconds, line) for moment, line in lines)]
    whole = seconds + _PAUSE
    width = 2 * _MARGIN + _WIDTH * max(len(line) for _, line in shown)
    height = 2 * _MARGIN + _HEIGHT * len(shown)
    # An animation that is switched off, as some readers ask for, leaves all lines visible.
    moments = sorted({round(moment, 1) for moment, _ in shown})
    frames = "".join(
        f"@keyframes k{number}{{0%,{moment / whole:.4%}{{opacity:0}}{moment / whole + 1e-4:.4%},100%{{opacity:1}}}}"
        f".l{number}{{animation:k{number} {whole:.1f}s step-end infinite}}"
        for number, moment in enumerate(moments)
        if moment
    )
    texts = "".join(
        f'<text class="l{moments.index(round(moment, 1))}" x="{_MARGIN}" y="{_MARGIN + _HEIGHT * (row + 1) - 4}">'
        f"{escape(line)}</text>\n"
        for row, (moment, line) in enumerate(shown)
        if line
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" '
        f'aria-label="{escape(title)}">\n<style>text{{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#d8dee9;'
        f"white-space:pre}}@media(prefers-reduced-motion:no-preference){{{frames}}}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#1f2430"/>\n{texts}</svg>\n'
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Record a command, and write the SVG."""
    parser = argparse.ArgumentParser(prog="python -m discreet_lab.recording", description=__doc__)
    parser.add_argument("svg", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the recording takes; default: 60")
    parser.add_argument("--title", help="the first line; default: the command")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args(arguments)
    svg = draw(given.title or " ".join(given.command), record(given.command), given.seconds)
    given.svg.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()

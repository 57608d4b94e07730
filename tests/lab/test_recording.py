"""A recording of a command: an SVG that is whole and has each line at its moment."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from discreet_lab.recording import main

SCRIPT = "import time; print('first <b>'); print('', flush=True); time.sleep(0.2); print('│ second')"


def test_each_line_appears_when_it_was_printed(tmp_path: Path) -> None:
    svg = tmp_path / "demo.svg"
    main([str(svg), "--seconds", "10", "--title", "make demo", "--", sys.executable, "-c", SCRIPT])
    root = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    texts = {element.text: element.get("class") for element in root.iter() if element.tag.endswith("text")}
    assert list(texts) == ["$ make demo", "first <b>", "│ second"]
    assert len(set(texts.values())) == 3
    style = next(element.text for element in root.iter() if element.tag.endswith("style"))
    assert style is not None
    assert f".{texts['│ second']}{{animation" in style
    assert "0%,55.5556%{opacity:0}" in style, "after 10 of 18 seconds"


def test_a_command_that_fails_is_not_recorded(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        main([str(tmp_path / "no.svg"), "--", sys.executable, "-c", "raise SystemExit(3)"])
    assert not (tmp_path / "no.svg").exists()

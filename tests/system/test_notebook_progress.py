"""Progress in a notebook: a stand-in for IPython's `display`, and the real one where it is installed."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from discreet.store.documents import Document
from discreet.system.progress import by_steps, shown_by
from discreet.vault import Vault


class Screen:
    """The outputs of a cell: each is the list of its texts and HTML, the last one visible."""

    def __init__(self) -> None:
        self.outputs: list[list[dict[str, str]]] = []

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        shown = [bundle]
        self.outputs.append(shown)
        return SimpleNamespace(update=lambda bundle, raw: shown.append(bundle))

    @property
    def last(self) -> list[str]:
        return [shown[-1]["text/plain"] for shown in self.outputs]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """A program inside a notebook."""
    screen = Screen()
    for name, content in (
        ("IPython", {"get_ipython": lambda: SimpleNamespace(kernel=object())}),
        ("IPython.display", {"display": screen.display}),
    ):
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    return screen


def documents() -> Iterator[Document]:
    return (Document(f"d{number}", f"p{number}", "Numb thumbs.") for number in range(30))


def test_adding_shows_a_stage(screen: Screen, vault: Vault, tmp_path: Path) -> None:
    vault.add_documents(documents())
    assert any(text.startswith("Embedding documents: 30, done after") for text in screen.last)
    notes = tmp_path / "notes.csv"
    notes.write_text("patient,text\n" + "".join(f"q{number},Cold shin.\n" for number in range(20)))
    vault.add(notes)
    assert any("Reading and embedding documents: 20 of 20, done after" in text for text in screen.last)


def test_quiet_and_other_displays_show_no_bar(screen: Screen, monkeypatch: pytest.MonkeyPatch, vault: Vault) -> None:
    with shown_by(lambda name, total: nullcontext(lambda count: None)):
        vault.add_documents(documents())
    monkeypatch.setenv("DISCREET_QUIET", "1")
    vault.add_documents(documents())
    assert not screen.outputs


def test_interruption_ends_a_step_as_stopped(screen: Screen) -> None:
    def work() -> None:
        with by_steps() as report:
            report("first", 2, 2)
            report("second", 1, 9)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert [text.rpartition(" after")[0] for text in screen.last] == ["first: 2 of 2, done", "second: 1 of 9, stopped"]

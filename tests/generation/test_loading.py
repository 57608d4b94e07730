"""The faster forward pass of a model on a GPU comes from a plug-in."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from discreet.generation import loading
from discreet.plugins import DECODERS, find_names
from tests.test_plugins import install


def test_decoder_of_a_plugin_is_used_on_a_gpu_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "decoder_module.py").write_text("def unfit(model): return None\ndef fit(model): return 'decoder'\n")
    install(
        tmp_path,
        "discreet",
        DECODERS,
        a="decoder_module:unfit",
        b="decoder_module:fit",
        c="no_such_module:open_decoder",
    )
    assert loading._open_decoder(SimpleNamespace(device=SimpleNamespace(type="cpu"))) is None
    assert capsys.readouterr().err == ""
    decoder: object = loading._open_decoder(SimpleNamespace(device=SimpleNamespace(type="cuda")))
    assert decoder == "decoder"
    assert "'c' of the package discreet in discreet.decoders cannot be used" in capsys.readouterr().err


def test_decoder_of_this_package_is_declared() -> None:
    assert find_names(DECODERS) == ["triton"]

"""What is read of a model, what is refused, and the faster forward pass of a plug-in."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from discreet.errors import BadData, UnknownName, UsageError
from discreet.models import loading
from discreet.models.loading import load_model
from discreet.operations.checks import language_model
from discreet.plugins import DECODERS, find_names
from tests.later import Later
from tests.test_plugins import install

if TYPE_CHECKING:
    import torch
    import transformers
    from safetensors import torch as safetensors
else:
    torch, transformers, safetensors = Later("torch"), Later("transformers"), Later("safetensors.torch")


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


@pytest.fixture
def pickled(small_model: Path, tmp_path: Path) -> Path:
    """The tiny model as it was published years ago: its weights in pytorch_model.bin."""
    folder = tmp_path / "pickled"
    shutil.copytree(small_model, folder)
    torch.save(safetensors.load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    return folder


class Harm:
    """An object whose reading runs code."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Return what is called when it is read."""
        return Path.touch, (Path(self._path),)  # type: ignore[return-value]


def test_pickled_weights_are_those_of_safetensors(pickled: Path, small_model: Path) -> None:
    ours, theirs = (load_model(str(folder), "cpu")._model.state_dict() for folder in (pickled, small_model))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert [file.name for file in language_model(str(pickled)).files] == ["pytorch_model.bin"]


def test_pickled_code_is_refused_and_does_not_run(pickled: Path, tmp_path: Path) -> None:
    torch.save({"weight": Harm(tmp_path / "ran")}, pickled / "pytorch_model.bin")
    with pytest.raises(BadData, match=r"hold more than numbers.*not read"):
        load_model(str(pickled), "cpu")
    assert not (tmp_path / "ran").exists()


def test_model_without_weights_or_with_experts_is_refused(small_model: Path, tmp_path: Path) -> None:
    shutil.copytree(small_model, tmp_path / "empty")
    (tmp_path / "empty/model.safetensors").unlink()
    with pytest.raises(UnknownName):
        load_model(str(tmp_path / "empty"), "cpu")
    transformers.MixtralConfig().save_pretrained(tmp_path / "experts")
    with pytest.raises(UsageError, match="experts"):
        load_model(str(tmp_path / "experts"), "cpu")

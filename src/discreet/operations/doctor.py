"""Checks of a vault, with a remedy for each problem. They change and load nothing."""

import platform
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from discreet import __version__, numerics
from discreet.config import VaultConfig, read_config
from discreet.errors import DiscreetError, NoSuchVault, StoreError, UsageError, VaultVersionError
from discreet.models.loading import find_slowness, is_plugin_model, outline_model
from discreet.models.openai import OpenAIAddress
from discreet.operations import checks
from discreet.operations.check_ledger import check_ledger, utc_now
from discreet.operations.checks import Finding, check_store, problem, sound, warning


def examine(folder: Path, *, expect: int = 0, now: datetime | None = None) -> list[Finding]:
    """Check the vault at `folder`. Return one finding for each check. For the custodian.

    Args:
        folder: the folder of the vault.
        expect: the least number of questions that the custodian's records show.
        now: the current time; default: the time of this machine.

    Raises:
        NoSuchVault: if there is no vault at `folder`.
    """
    findings = []
    try:
        settings = read_config(folder)
    except NoSuchVault:
        raise
    except VaultVersionError as error:
        findings.append(problem("settings", str(error), "Run the doctor of the version of discreet that made it."))
    except DiscreetError as error:
        findings.append(problem("settings", str(error), "Restore vault.json from a backup. It cannot be made again."))
    else:
        findings += _guarded("ledger", lambda: check_ledger(folder, settings, now or utc_now(), expect))
        findings += _guarded("key", lambda: checks.check_key(folder, settings)) if settings.payment == "unit" else []
        findings += _guarded("store", lambda: check_store(folder, settings))
        findings += _guarded("model", lambda: _models(settings))
        findings += _guarded("processor", lambda: _processor(settings))
        said = f"discreet {__version__}, Python {platform.python_version()}, vault format {settings.version}"
        findings.append(sound("versions", f"{said}."))
    for name, check in (
        ("permissions", checks.check_rights),
        ("disk", checks.check_disk),
        ("file system", checks.check_network),
        ("left over", checks.check_left_over),
        ("origin", checks.check_origin),
    ):
        findings += _guarded(name, lambda check=check: check(folder))  # type: ignore[misc]
    return findings


def examine_model(name: str) -> list[Finding]:
    """Tell whether a model of the transformers library can be used, and what of it runs fast. No weights are loaded.

    The findings come from what decides in a run: the configuration, the model's attention, and the decoders of a GPU.

    Raises:
        UsageError: if an engine or a plug-in opens the model.
        UnknownName: if there is no such model.
    """
    if is_plugin_model(name):
        raise UsageError(f"'{name}' is opened by an engine or a plug-in, which decides how it runs. Give a folder.")
    findings = [_here("weights", checks.language_model(name))]
    if findings[0].level == "problem":
        return findings
    model = outline_model(name)
    config = model.config
    if obstacle := numerics.find_obstacle(config):
        return [*findings, problem("type", f"{config.model_type}: {obstacle}.", "Take another model.")]
    doubt, window = numerics.find_doubt(config), numerics.find_window(config)
    findings.append(
        warning("type", f"{config.model_type}: {doubt}.", "The first question of each shape takes five times as long.")
        if doubt
        else sound("type", f"{config.model_type}: it is tested, and needs no check of its rows at each shape.")
    )
    windows = f", of which some layers see the last {window:,}" if window else ""
    findings.append(
        sound("context", f"A prompt and its answer have at most {numerics.find_context(config):,} tokens{windows}.")
    )
    for device in ("cpu", "cuda"):
        slow = find_slowness(model, device)
        where = "On a processor" if device == "cpu" else "On a GPU"
        findings.append(
            warning(device, f"{where} it runs slowly: {slow}.", "See docs/models.md, 'On a GPU'.")
            if slow
            else sound(device, f"{where} it runs fast.")
        )
    return findings


def _key_and_store(folder: Path, settings: VaultConfig) -> list[Finding]:
    key = _guarded("key", lambda: checks.check_key(folder, settings)) if settings.payment == "unit" else []
    return key + _guarded("store", lambda: check_store(folder, settings))


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """Return the findings of a check. A check that fails is a finding, too."""
    findings = list[Finding]()
    try:
        for one in check():
            findings.append(one)
    except (DiscreetError, OSError, sqlite3.Error, UnicodeDecodeError) as error:
        why = str(error) if isinstance(error, DiscreetError) else getattr(error, "strerror", None)
        findings.append(
            problem(
                name,
                f"The check failed: {why or type(error).__name__}",
                "Check the permissions of the vault's files, and the disk.",
            )
        )
    return findings


def _models(settings: VaultConfig) -> Iterator[Finding]:
    if is_plugin_model(settings.model):
        yield _engine(settings.model)
    else:
        yield _here("model", checks.language_model(settings.model))
    yield _here("embedder", checks.embedder(settings.embedder))


def _processor(settings: VaultConfig) -> Iterator[Finding]:
    """Say which processor this is and what it computes from public rows, if this process computes the model."""
    if is_plugin_model(settings.model) or checks.language_model(settings.model).missing:
        return
    import torch

    able = torch.cpu.get_capabilities()
    kinds = [name for name in (*numerics.INSTRUCTIONS, "avx512_f", "avx2") if able.get(name)]
    said = f"{able.get('cpu_name') or platform.machine()} ({', '.join(kinds) or 'no vectors that are known'})"
    digest, computed = numerics.probe_machine(), str(numerics.compute_dtype()).removeprefix("torch.")
    yield sound("processor", f"{said}, {computed}: public rows keep their bits in any order; their digest is {digest}.")


def _here(check: str, found: checks.Here) -> Finding:
    if not found.missing:
        return sound(check, f"{found.name} is on this machine.")
    level = warning if "downloads" in found.remedy else problem
    return level(check, f"{found.name}: {found.missing}", found.remedy)


def _engine(name: str) -> Finding:
    """Say where another engine computes the model. A server gets no request: it may have a key, and a queue."""
    engine, _, argument = name.partition(":")
    if engine != "openai":
        return sound("model", f"{name} is opened by an engine or a plug-in, which checks it at the first question.")
    endpoint = OpenAIAddress.parse(argument).endpoint
    if endpoint.listens():
        return sound(
            "model",
            f"A server listens at {endpoint}. The first question checks, unpaid, whether its model answers such rows.",
        )
    return problem("model", f"No server listens at {endpoint}. Questions are refused.", "Start the model's server.")


def check_copy(folder: Path) -> list[Finding]:
    """Check the parts of a copy that a restored vault needs: ledger, key and store. Return the problems.

    Raises:
        StoreError, VaultVersionError: if the settings of the copy cannot be read.
    """
    settings = read_config(folder)
    findings = [] if settings.ledger else _guarded("ledger", lambda: check_ledger(folder, settings, utc_now()))
    findings += _key_and_store(folder, settings)
    return [one for one in findings if one.level == "problem"]


def refuse(found: list[Finding], what: str) -> None:
    """Raise an error for a list of problems.

    Raises:
        StoreError: if the list is not empty. The message has all problems.
    """
    if found:
        said = " ".join(f"{one.check}: {one.what}" for one in found)
        raise StoreError(f"{what} {said} See: discreet doctor VAULT.")

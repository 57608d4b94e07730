"""The demonstration as a server: `python -m discreet.server.demo FOLDER`, or `make serve`.

The made-up hospital, a key for an analyst, a link for the custodian, and a command line that asks.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from discreet.demo.corpus import QUESTIONS, documents
from discreet.demo.run import build_vault
from discreet.errors import DiscreetError
from discreet.server.accounts import Accounts, Limits
from discreet.server.audit_log import AuditLog
from discreet.server.config import ServeConfig, read_serve_config
from discreet.server.supervisor import Supervisor
from discreet.vault import Vault

KEY, EPSILON = "analyst", 10.0
READY = "Ready:"
"""How the line of the supervisor begins that says that questions are answered."""
Build = Callable[[Path], Vault]


def open_or_build(folder: Path) -> Vault:
    """Return the vault in a folder. It is made if there is none, and completed if that was interrupted."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        return build_vault(folder)
    vault = Vault.open(folder)
    if any(folder.glob("adding.*")):  # left by an `add` that did not end
        vault.add_documents(documents())
    return vault


def prepare(folder: Path, port: int | None = None, build: Build = open_or_build) -> tuple[ServeConfig, str]:
    """Return the configuration of a server, and the secret of a key.

    Args:
        folder: the vault's.
        port: of the analysts' listener.
        build: opens the vault, or makes it.

    Raises:
        DiscreetError: if the folder holds something else, or cannot be written.
    """
    vault = build(folder)
    config = read_serve_config(None, {"vaults": (str(folder),), "port": port})
    accounts, log = Accounts(config.accounts), AuditLog(config.audit_log)
    try:
        accounts.grant(config.vaults[0].name, vault.ledger.budget)
        if any(key.name == KEY and not key.revoked for key in accounts.list_keys()):
            key, secret = accounts.rotate(KEY)  # only its hash was kept
            log.append("custodian", "key-rotate", key.id)
        else:
            key, secret = accounts.issue(KEY, [config.vaults[0].name], Limits(epsilon=EPSILON))
            log.append("custodian", "key-issue", key.id, name=KEY, epsilon=EPSILON, reserved=False)
    finally:
        accounts.close()
    return config, secret


def instructions(config: ServeConfig, secret: str) -> str:
    """Return what to do now: for the analyst, in a browser and on a command line."""
    pages = config.url.removesuffix("/v1")
    message = {"role": "user", "content": QUESTIONS[1].question}
    body = json.dumps({"model": config.vaults[0].name, "messages": [message]})
    return (
        f"For the analyst, in a browser: {pages}\n"
        f"The analyst's key: {secret}\n"
        "On a command line (the answer comes at a multiple of a fixed time):\n\n"
        f"curl {config.url}/chat/completions -H 'Authorization: Bearer {secret}' "
        f"-H 'Content-Type: application/json' -d '{body}'\n\n"
        "Ctrl-C ends the server. The vault and the accounts stay."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the vault, and serve it until Ctrl-C. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m discreet.server.demo", description="Serve the made-up hospital.")
    parser.add_argument("folder", type=Path, help="the vault's; it is made if it is not there")
    parser.add_argument("--port", type=int, help="the analysts' port (8000)")
    given = parser.parse_args(arguments)
    try:
        print(f"Vault: {given.folder}", flush=True)
        config, secret = prepare(given.folder, given.port)
        return Supervisor(config, lambda line: _say(line, config, secret)).run()
    except DiscreetError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def _say(line: str, config: ServeConfig, secret: str) -> None:
    print(line, flush=True)
    if line.startswith(READY):
        print(f"\n{instructions(config, secret)}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())

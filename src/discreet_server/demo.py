"""The demonstration as a server: `python -m discreet_server.demo FOLDER`, or `make serve`.

The made-up hospital, a key for an analyst, a link for the custodian, and a command line that asks. The vault is made in
a process of its own, so that this one, which waits for the server's end, holds no model.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from discreet.config import read_config
from discreet.demo.corpus import QUESTIONS, documents
from discreet.errors import DiscreetError
from discreet.ledger.ledger import open_ledger
from discreet_server.accounts import Accounts, Limits
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig, read_serve_config
from discreet_server.keeper.hardening import with_time
from discreet_server.supervisor import READY, Supervisor

KEY, EPSILON = "analyst", 10.0
SECRET = "demo.key"
"""The file in the state folder that keeps the secret of the key, so that the next start prints the same one."""


def open_or_build(folder: Path) -> None:
    """Make the vault in a folder if there is none, and complete it if that was interrupted."""
    from discreet.demo.run import build_vault  # with the model
    from discreet.vault import Vault

    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        build_vault(folder)
    elif any(folder.glob("adding.*")):  # left by an `add` that did not end
        Vault.open(folder).add_documents(documents())


def prepare(folder: Path, port: int | None = None) -> tuple[ServeConfig, str]:
    """Return the configuration of a server, and the secret of a key: the one of the start before, if it is valid.

    Args:
        folder: the vault's.
        port: of the analysts' listener.

    Raises:
        DiscreetError: if the folder holds something else, or cannot be written.
    """
    grant = open_ledger(folder, read_config(folder)).budget
    config = read_serve_config(None, {"vaults": (str(folder),), "port": port})
    name, kept = config.vaults[0].name, Path(config.state) / SECRET
    accounts, log = Accounts(config.accounts), AuditLog(config.audit_log)
    try:
        accounts.grant(name, grant)
        with suppress(OSError, ValueError):
            if accounts.find(secret := kept.read_text("ascii")):
                return config, secret
        if any(key.name == KEY and not key.revoked for key in accounts.list_keys()):
            key, secret = accounts.rotate(KEY)  # only its hash was kept
            log.append("custodian", "key-rotate", key.id)
        else:
            key, secret = accounts.issue(KEY, [name], Limits(epsilon=EPSILON))
            log.append("custodian", "key-issue", key.id, name=KEY, epsilon=EPSILON, reserved=False)
        kept.unlink(missing_ok=True)
        with os.fdopen(os.open(kept, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secret)
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
    parser = argparse.ArgumentParser(prog="python -m discreet_server.demo", description="Serve the made-up hospital.")
    parser.add_argument("folder", type=Path, help="the vault's; it is made if it is not there")
    parser.add_argument("--port", type=int, help="the analysts' port (8000)")
    parser.add_argument("--build", action="store_true", help="make the vault, and serve nothing")
    given = parser.parse_args(arguments)
    try:
        if given.build:
            open_or_build(given.folder)
            return 0
        print(with_time(f"Vault: {given.folder}"), flush=True)
        if not given.folder.exists() or any(given.folder.glob("adding.*")):
            made = subprocess.run(
                [sys.executable, "-m", "discreet_server.demo", str(given.folder), "--build"], check=False
            )
            if made.returncode:
                return made.returncode
        config, secret = prepare(given.folder, given.port)
        return Supervisor(config, lambda line: _say(line, config, secret)).run()
    except DiscreetError as error:
        print(error, file=sys.stderr)
        return error.exit_code


def _say(line: str, config: ServeConfig, secret: str) -> None:
    print(line, flush=True)
    if f" {READY} " in line:
        print(f"\n{instructions(config, secret)}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())

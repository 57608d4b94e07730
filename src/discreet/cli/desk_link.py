"""`discreet desk-link`: another link to the custodian's pages of a server that runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json
from discreet.config import find_state
from discreet.errors import UsageError
from discreet.server.state_folder import make_another
from discreet.system.words import quoted


@dataclass(frozen=True)
class DeskLink:
    """A way into the custodian's pages.

    Attributes:
        link: a link that logs the custodian in once, within an hour.
    """

    link: str


@app.command(name="desk-link")
@explained
def desk_link(
    vault: VaultPath,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="DIR", help="The server's state folder; VAULT.server by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a link that logs the custodian in once, within an hour. The link before it does not work any more."""
    run = find_state(vault, state) / "run"
    try:
        link = make_another(run)
    except OSError as error:
        raise UsageError(f"No link can be made in {run}: {error.strerror}. Run this as the server's user.") from None
    if link is None:
        raise UsageError(
            f"No desk was started with the folder {run}. Start one: discreet serve {quoted(vault)}; or name its "
            "folder: --state DIR"
        )
    if as_json:
        print_json(DeskLink(link))
        return
    out.print(link, markup=False)
    err.print("It works once, within an hour. Its first reader acts as the custodian: keep it private.")

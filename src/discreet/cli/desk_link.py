"""`discreet desk-link`: another link to the custodian's pages of a server that runs."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import VaultPath, app
from discreet.cli.output import err, explained, out
from discreet.errors import UsageError
from discreet.server.config import ServeConfig, ServedVault, find_state
from discreet.server.desk.links import make_link


@app.command(name="desk-link")
@explained
def desk_link(
    vault: VaultPath,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="DIR", help="The server's state folder; VAULT.server by default.")
    ] = None,
    desk_host: Annotated[str, typer.Option(help="Where the desk listens.")] = ServeConfig.desk_host,
    desk_port: Annotated[int, typer.Option(help="Its port.")] = ServeConfig.desk_port,
) -> None:
    """Print a link that logs the custodian in once, within an hour. The link before it does not work any more."""
    folder = find_state(vault, state).absolute()
    config = ServeConfig(
        (ServedVault(vault.absolute().name, str(vault.absolute())),),
        str(folder),
        desk_host=desk_host,
        desk_port=desk_port,
        insecure=True,
    )
    try:
        link = make_link(config)
    except OSError as error:
        raise UsageError(
            f"No link can be made in {config.run}: {error.strerror}. Is the server running? Start it: discreet serve "
            f"{vault}; or name its folder: --state DIR"
        ) from None
    out.print(link, markup=False, highlight=False, soft_wrap=True)
    err.print("It works once, within an hour. Whoever opens it acts as the custodian.")

"""`discreet serve`: a server between analysts and documents."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import app
from discreet.cli.output import err, explained
from discreet.errors import MissingPart


@app.command()
@explained
def serve(
    vaults: Annotated[
        list[Path] | None, typer.Argument(metavar="VAULT...", help="The folders of the vaults.", show_default=False)
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A serve.toml with presets and limits.")] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keys, audit log and sockets; VAULT.server if not given.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Where analysts connect (127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Their port (8000).")] = None,
    no_desk: Annotated[bool, typer.Option("--no-desk", help="Serve no pages for the custodian.")] = False,
    desk_host: Annotated[str | None, typer.Option(help="Where the custodian connects (127.0.0.1).")] = None,
    desk_port: Annotated[int | None, typer.Option(help="The custodian's port (8001).")] = None,
    quantum: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Answer at multiples of this time; measured if not given.",
        ),
    ] = None,
    measure: Annotated[bool, typer.Option("--measure", help="Measure the longest answers again.")] = False,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="A certificate; with --tls-key.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Bind beyond the loopback without TLS.")] = False,
    front_user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run the front as another user; needs root.")
    ] = None,
) -> int:
    """Serve vaults to analysts over HTTP, with keys and budgets. Ctrl-C ends it after the question that runs."""
    try:
        import fastapi  # noqa: F401 - what the front needs
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingPart("A server needs further packages", "serve") from None
    from discreet.server.config import MEASURED, read_serve_config
    from discreet.server.keeper.presets import check_served
    from discreet.server.supervisor import Supervisor

    given = {
        "vaults": tuple(str(one) for one in vaults) if vaults else None,
        "state": str(state) if state else None,
        "host": host,
        "port": port,
        "desk": False if no_desk else None,
        "desk_host": desk_host,
        "desk_port": desk_port,
        "quantum": quantum,
        "tls_cert": str(tls_cert.absolute()) if tls_cert else None,
        "tls_key": str(tls_key.absolute()) if tls_key else None,
        "insecure": insecure or None,
        "front_user": front_user,
    }
    config_of = read_serve_config(config, given)
    check_served(config_of)
    if measure:
        (config_of.run / MEASURED).unlink(missing_ok=True)
    return Supervisor(config_of, lambda line: err.print(line, markup=False, highlight=False, soft_wrap=True)).run()

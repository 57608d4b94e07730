"""`discreet serve-model`: a language model as a process that several askers share."""

import os
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import app
from discreet.cli.output import err, explained
from discreet.errors import MissingPart, UsageError
from discreet.generation.loading import PACKAGED
from discreet.retrieval.embedding import HashingEmbedder
from discreet.retrieval.served_embedder import USUAL


@app.command("serve-model")
@explained
def serve_model(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Packaged name, path or hub name.")] = PACKAGED,
    embedder: Annotated[
        str, typer.Option(metavar="NAME", help="The embedder of the vaults that ask; loaded at the first question.")
    ] = USUAL,
    socket: Annotated[
        Path | None, typer.Option(metavar="PATH", help="A Unix socket, for you alone.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="A host of this machine, with --port.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="A port instead of a socket.", show_default=False)] = None,
) -> int:
    """Serve a language model to askers on this machine. Ctrl-C ends it.

    Askers find it by DISCREET_MODEL_WORKER=PATH, or by the model name worker:PATH. They load no model of their own. On
    a socket, it also embeds their questions.
    Programs that speak OpenAI's protocol find it at http://HOST:PORT/v1.
    """
    if (socket is None) == (port is None):
        raise UsageError("Give one of --socket PATH and --port NUMBER.")
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingPart("A model worker needs further packages", "serve") from None
    from discreet.generation.opening import open_model
    from discreet.generation.remote.worker_model import WORKER
    from discreet.planning.models import check_parts
    from discreet.server.model_worker.app import create_app
    from discreet.server.model_worker.main import bind_port, bind_socket, remove_socket, serve

    # A misspelt name asks no hub. The default embedder may be missing: its askers load their own, and say so.
    checked = HashingEmbedder.name if embedder == USUAL else embedder
    check_parts(model, checked, command=f"discreet init VAULT --model {model} --embedder {embedder}")
    listener = bind_socket(socket) if socket is not None else bind_port(host, port or 0)
    place = f"unix:{socket}" if socket is not None else f"http://{host}:{listener.getsockname()[1]}/v1"
    os.environ.pop(WORKER, None)  # a worker does not ask itself for its model
    try:
        served = create_app(open_model(model), embedder)
        return serve(served, listener, lambda: err.print(f"Serving {model} at {place}. Ctrl-C ends it.", markup=False))
    finally:
        if socket is not None:
            remove_socket(socket, listener)
        listener.close()

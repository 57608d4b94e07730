"""The application of a model worker. No reply and no line of a log repeats a request."""

from collections.abc import Awaitable, Callable

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from discreet.generation.model import VotingModel
from discreet.generation.remote.served_model import Refusal, ServedModel
from discreet.retrieval.served_embedder import USUAL, ServedEmbedder
from discreet.server.model_worker.exact_routes import exact_routes
from discreet.server.model_worker.openai_routes import openai_routes
from discreet.server.model_worker.serving import Serving


def create_app(model: VotingModel, embedder: str = USUAL) -> FastAPI:
    """Return the application that serves a model, and an embedder that is loaded at the first request for it."""
    serving = Serving(ServedModel(model), ServedEmbedder(embedder))
    app = FastAPI(title="discreet model worker", docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(openai_routes(serving))
    app.include_router(exact_routes(serving))

    # A page of the web that points its own name at this machine has another Host. "[" begins an address of IPv6.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "["])

    @app.middleware("http")
    async def check(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
        try:
            serving.check_key(request)
            return await call_next(request)
        except Refusal as refusal:
            return _refuse(refusal)
        except Exception as error:
            return _refuse(Refusal(f"The worker failed with {type(error).__name__}.", 500))

    @app.exception_handler(Refusal)
    async def refuse(_: Request, refusal: Refusal) -> Response:
        return _refuse(refusal)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, __: RequestValidationError) -> Response:
        return _refuse(Refusal("The request has other fields than this route takes.", 422))

    return app


def _refuse(refusal: Refusal) -> JSONResponse:
    return JSONResponse({"error": {"message": str(refusal), "type": "invalid_request_error"}}, refusal.status)

"""A stand-in for a Qdrant server: its REST interface, as far as the store uses it, over Qdrant's own engine.

The requests are those of the real package qdrant-client, over real HTTP, and the engine is Qdrant's. The code between,
which a server of Qdrant has in Rust, is ours. What it does not show is said in README.md.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from qdrant_engine import EdgeEngine

PATH = re.compile(r"/collections(?:/(?P<name>[\w-]+))?(?P<rest>/points(?:/\w+)?)?")


class StandIn:
    """Collections of an engine and their settings, as a server shows them."""

    def __init__(self, folder: Path) -> None:
        self.engine, self.turn = EdgeEngine(folder), threading.Lock()
        self.settings: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str, dict[str, Any]]] = []
        self.status, self.key = 0, ""

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        found = PATH.fullmatch(path)
        if found is None or self.status:
            return self.status or 404, None
        name, rest = found["name"], found["rest"]
        if name is None:
            return 200, {"collections": [{"name": one} for one in self.settings]}
        if method == "PUT" and not rest:
            self.engine.make(name, body["vectors"]["size"])
            self.settings[name] = body
            return 200, True
        if name not in self.settings:
            return 404, None
        return 200, self.of(name, method, rest, body)

    def of(self, name: str, method: str, rest: str | None, body: dict[str, Any]) -> Any:
        """The answer about one collection."""
        match method, rest:
            case "DELETE", None:
                self.engine.drop(name)
                del self.settings[name]
                return True
            case "GET", None:
                return about(self.settings[name], self.engine.count(name))
            case "PUT", "/points":
                batch = body["batch"]
                self.engine.add(name, batch["ids"], np.array(batch["vectors"], np.float32))
                return {"operation_id": 1, "status": "completed"}
            case "POST", "/points/query":
                question = np.array(query_of(body), np.float32)
                hits = self.engine.search(name, question, body["limit"], body.get("score_threshold"))
                pairs = zip(hits.ids.tolist(), hits.scores.tolist(), strict=True)
                return {"points": [{"id": one, "version": 1, "score": score} for one, score in pairs]}
            case "POST", "/points/scroll":
                edge = self.engine.edge
                request = edge.ScrollRequest(
                    limit=body["limit"], offset=body.get("offset"), with_payload=False, with_vector=True
                )
                records, after = self.engine.shards[name].scroll(request)
                points = [{"id": record.id, "vector": record.vector} for record in records]
                return {"points": points, "next_page_offset": after}
            case "POST", "/points/count":
                return {"count": self.engine.count(name)}
        raise AssertionError(f"The stand-in does not know {method} {rest}")


def query_of(body: dict[str, Any]) -> list[float]:
    query = body["query"]
    return list(query["nearest"] if isinstance(query, dict) else query)


def about(settings: dict[str, Any], count: int) -> dict[str, Any]:
    """What a server says of a collection."""
    hnsw = {"m": 0, "ef_construct": 100, "full_scan_threshold": 10000} | (settings.get("hnsw_config") or {})
    optimizers = {
        "deleted_threshold": 0.2,
        "vacuum_min_vector_number": 1000,
        "default_segment_number": 0,
        "flush_interval_sec": 5,
    } | (settings.get("optimizers_config") or {})
    params: dict[str, Any] = {"vectors": settings["vectors"], "shard_number": 1}
    params["replication_factor"] = settings.get("replication_factor", 1)
    config: dict[str, Any] = {"params": params, "hnsw_config": hnsw, "optimizer_config": optimizers}
    config["quantization_config"] = settings.get("quantization_config")
    return {
        "status": "green",
        "optimizer_status": "ok",
        "segments_count": 1,
        "points_count": count,
        "config": config,
        "payload_schema": {},
    }


class Handler(BaseHTTPRequestHandler):
    """Reads requests, and writes answers of the stand-in."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes; the second would wait 40 ms
    stand_in: StandIn

    def handle_any(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body, path = (json.loads(content) if content else {}), urlsplit(self.path).path
        own = self.stand_in
        with own.turn:
            own.requests.append((self.command, self.path, body))
            if own.key and self.headers.get("api-key") != own.key:
                status, result = 401, None
            else:
                status, result = own.answer(self.command, path, body)
        said = {"time": 0.0, "status": "ok", "result": result} if status == 200 else {"status": {"error": "secret"}}
        sent = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    do_GET = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815 - the names of http.server

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def qdrant_server(folder: Path) -> Iterator[tuple[str, StandIn]]:
    """The address of a stand-in, while it is needed, and the stand-in."""
    pytest.importorskip("qdrant_client", reason="The store in Qdrant is tested where qdrant-client is installed")
    own = StandIn(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Handler,), {"stand_in": own}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"qdrant://127.0.0.1:{server.server_port}", own
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Join or start a Ray cluster without usage reports, and with clear errors."""

import importlib.util
import logging
import os
import socket
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, MissingPart, UsageError

HERE = "local"
"""The address that starts a cluster on this machine for this process."""
_PATIENCE = 5.0
"""Seconds to wait for the answer of a cluster; Ray waits for ten minutes."""
_joined: dict[str, int] = {}
"""The cluster that this process is in, by its address, and how many parts of the process use it."""


def connect_ray(address: str, workers: int) -> Any:
    """Join a cluster and return the module `ray`. `leave_ray` leaves it; the end of the process does, too.

    A process is in one cluster at a time. Each part of it that joins leaves by itself.

    Args:
        address: host:port of the cluster's head; "local" starts one on this machine.
        workers: the number of processors of a cluster on this machine; all processors if 0.

    Raises:
        MissingPart: if Ray is not installed.
        UsageError: if the address is invalid.
        DiscreetError: if no cluster answers there, if it refuses this process, or if the process is in another one.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingPart("To spread work over a cluster, install Ray", "ray")
    if address != HERE:
        _check_reachable(address)
        _show_token()
    if _joined and address not in _joined:
        raise DiscreetError(
            f"This process is in the Ray cluster at {next(iter(_joined))} already. Start another process for the one "
            f"at {address}."
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports
    os.environ.setdefault("RAY_worker_niceness", "0")  # the default gives other processes priority
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # the message of an error may contain words of documents
    import ray
    import ray.util

    if _joined:
        _joined[address] += 1
        return ray
    # "local" is passed explicitly: without an address, Ray joins any cluster that this machine knows.
    started: dict[str, Any] = {"address": address}
    if address == HERE:
        started |= {"num_cpus": workers or None, "include_dashboard": False}
    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        ray.init(log_to_driver=False, configure_logging=False, **started)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise DiscreetError(
            f"The Ray cluster at {address} could not be joined ({type(error).__name__}). It must run the same versions "
            "of Ray and Python; one that asks for a token needs its token here: RAY_AUTH_TOKEN, or ~/.ray/auth_token. "
            "Nothing was paid, and nothing was changed."
        ) from error
    _joined[address] = 1
    # Ray prints messages about lost processes on standard output, in the middle of answers and of JSON.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    return ray


def leave_ray(address: str) -> None:
    """Leave a cluster, unless another part of this process uses it."""
    import ray

    _joined[address] -= 1
    if not _joined[address]:
        del _joined[address]
        ray.shutdown()


def _show_token() -> None:
    """Let Ray show the token of this user to the cluster, as it does when it starts one, unless that is set."""
    given = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if given or (Path.home() / ".ray" / "auth_token").exists():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def _check_reachable(address: str) -> None:
    """Raise a clear error if no cluster answers at an address."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"A Ray cluster has an address such as 10.0.0.5:6379, or is '{HERE}'; not '{address}'.")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise DiscreetError(
            f"No Ray cluster answers at {address} ({error}). Start one there (ray start --head), or use "
            f"--ray {HERE}. Nothing was paid, and nothing was changed."
        ) from error

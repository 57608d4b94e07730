"""Joining a Ray cluster, or starting one, so that nothing is told to anybody and a person understands what fails."""

import importlib.util
import logging
import os
import socket
from typing import Any

from discreet.errors import DiscreetError, MissingPart, UsageError

HERE = "local"
"""The address of a cluster that is started on this machine, for this process alone."""
_PATIENCE = 5.0
"""Seconds to wait for a cluster to answer; Ray itself would wait for ten minutes."""


def joined(address: str, workers: int) -> Any:
    """Ray, when this process is part of a cluster; `shutdown()` leaves it.

    Args:
        address: host:port of the cluster's head; "local" starts one on this machine.
        workers: of a cluster on this machine, how many processors it has; all of them if 0.

    Raises:
        MissingPart: Ray is not installed.
        UsageError: the address is none.
        DiscreetError: nothing answers there, or it lets nobody in.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingPart("To spread work over a cluster, install Ray", "ray")
    if address != HERE:
        _answers(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_worker_niceness", "0")  # or whatever else runs here comes first
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # an error's message may hold words of documents
    import ray
    import ray.data

    # "local" is said aloud: without an address Ray joins whatever cluster this machine knows of.
    started: dict[str, Any] = {"address": address}
    if address == HERE:
        started |= {"num_cpus": workers or None, "include_dashboard": False}
    for logger in ("ray", "ray.data"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    try:
        ray.init(log_to_driver=False, configure_logging=False, **started)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise DiscreetError(
            f"The Ray cluster at {address} could not be joined ({type(error).__name__}). It must run the same versions "
            "of Ray and Python; one that asks for a token needs RAY_AUTH_MODE=token here. Nothing was paid."
        ) from error
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray


def _answers(address: str) -> None:
    """Raises what a person can understand if there is no cluster at an address."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"A Ray cluster has an address such as 10.0.0.5:6379, or is '{HERE}'; not '{address}'.")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise DiscreetError(
            f"No Ray cluster answers at {address} ({error}). Start one there (ray start --head), or use "
            f"--ray {HERE}. Nothing was paid."
        ) from error

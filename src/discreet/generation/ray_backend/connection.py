"""Join or start a Ray cluster without usage reports, and with clear errors."""

import importlib.util
import logging
import os
import socket
from typing import Any

from discreet.errors import DiscreetError, MissingPart, UsageError

HERE = "local"
"""The address that starts a cluster on this machine for this process."""
_PATIENCE = 5.0
"""Seconds to wait for the answer of a cluster; Ray waits for ten minutes."""


def connect_ray(address: str, workers: int) -> Any:
    """Join a cluster and return the module `ray`; its `shutdown()` leaves the cluster.

    Args:
        address: host:port of the cluster's head; "local" starts one on this machine.
        workers: the number of processors of a cluster on this machine; all processors if 0.

    Raises:
        MissingPart: if Ray is not installed.
        UsageError: if the address is invalid.
        DiscreetError: if no cluster answers there, or if it refuses this process.
    """
    if importlib.util.find_spec("ray") is None:
        raise MissingPart("To spread work over a cluster, install Ray", "ray")
    if address != HERE:
        _check_reachable(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_worker_niceness", "0")  # the default gives other processes priority
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # the message of an error may contain words of documents
    import ray
    import ray.util

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
            "of Ray and Python; one that asks for a token needs RAY_AUTH_MODE=token here. Nothing was paid."
        ) from error
    return ray


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
            f"--ray {HERE}. Nothing was paid."
        ) from error

"""A cluster that cannot be joined, in words that a person understands."""

import subprocess
import sys

import pytest

from discreet.errors import MissingPart, UsageError
from discreet.system.ray_cluster import HERE, connect_ray


@pytest.mark.parametrize("address", ["nonsense", "host:", ":80", "host:port"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(UsageError, match="has an address such as"):
        connect_ray(address, 0)


def test_ray_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingPart, match=r"\.\[ray\]"):
        connect_ray(HERE, 0)


def test_joining_prints_no_line_of_rays_log() -> None:
    program = f"from discreet.system.ray_cluster import *; connect_ray('{HERE}', 1).get([]); leave_ray('{HERE}')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "logging.cc" not in done.stderr  # the machine may deserve a warning, such as that of a small /dev/shm

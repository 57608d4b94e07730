"""Hosts with a network of their own: a namespace each, with one link to the clients and one to the database.

All of it lies in a namespace of the test's own (`enter`), so the machine's network is not touched, and nothing is
left of it. Each host's namespace lives as long as a process in it.
"""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass

_INSIDE = "TEST_NETWORK"
"""The environment variable that is set inside the namespace."""


def enter() -> bool:
    """Run this program again in a network of its own, if that can be. Return whether it runs there."""
    if os.environ.get(_INSIDE):
        _run("ip", "link", "set", "lo", "up")
        return True
    if not permitted():
        return False
    os.environ[_INSIDE] = "1"
    module = sys.modules["__main__"].__spec__
    assert module is not None
    return bool(os.execvp("unshare", ["unshare", "--net", sys.executable, "-m", module.name, *sys.argv[1:]]))


def permitted() -> bool:
    """Return whether this machine permits network namespaces with links between them. Nothing is left of the trial."""
    if not all(shutil.which(one) for one in ("ip", "unshare", "nsenter")):
        return False
    link = ["ip", "link", "add", "trial", "type", "veth", "peer", "name", "other"]
    return not subprocess.run(["unshare", "--net", *link], check=False, capture_output=True).returncode


@dataclass
class Network:
    """The network of a host."""

    number: int
    process: "subprocess.Popen[bytes]"

    @property
    def inside(self) -> list[str]:
        """The command that enters it."""
        return ["nsenter", f"--net=/proc/{self.process.pid}/ns/net"]

    @property
    def address(self) -> str:
        """The host's address for clients."""
        return f"10.77.{self.number}.2"

    @property
    def gate(self) -> str:
        """The address of the database for the host."""
        return f"10.78.{self.number}.1"

    def cut(self) -> None:
        """Cut the link to the database: packets are lost, in both directions."""
        _run("ip", "link", "set", f"d{self.number}", "down")

    def mend(self) -> None:
        """Mend it."""
        _run("ip", "link", "set", f"d{self.number}", "up")

    def close(self) -> None:
        """End the namespace."""
        self.process.kill()
        self.process.wait()


def make_network(number: int) -> Network:
    """Make the network of a host."""
    before = os.readlink("/proc/self/ns/net")
    process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    while os.readlink(f"/proc/{process.pid}/ns/net") == before:
        time.sleep(0.01)
    made = Network(number, process)
    for name, part in (("c", 77), ("d", 78)):
        _run("ip", "link", "add", f"{name}{number}", "type", "veth", "peer", "name", "eth", "netns", str(process.pid))
        _run("ip", "address", "add", f"10.{part}.{number}.1/24", "dev", f"{name}{number}")
        _run("ip", "link", "set", f"{name}{number}", "up")
        _run(*made.inside, "ip", "link", "set", "eth", "name", f"{name}-eth")
        _run(*made.inside, "ip", "address", "add", f"10.{part}.{number}.2/24", "dev", f"{name}-eth")
        _run(*made.inside, "ip", "link", "set", f"{name}-eth", "up")
    _run(*made.inside, "ip", "link", "set", "lo", "up")
    return made


def _run(*command: str) -> None:
    subprocess.run(command, check=True)

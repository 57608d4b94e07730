"""The processes of one host: a supervisor with a front and a keeper, as `discreet serve` runs them.

Run as a program, it is the supervisor; with the argument `keeper`, it is the keeper. Its vaults have the toy model,
which answers at once: the questions here are for the ledger and for the accounts.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from discreet.models.toy import ToyModel
from discreet.vault import Vault
from discreet_server.config import VARIABLE, ServeConfig
from discreet_server.keeper.hardening import end_with_parent
from discreet_server.keeper.process import main as keep
from discreet_server.supervisor import Supervisor

ROOT = Path(__file__).parents[3]
MODULE = "tests.lab.keepers.host"
PATIENCE = 120.0
"""Seconds in which a host must answer after its start."""


@dataclass
class Host:
    """A host with a server of its own."""

    name: str
    config: ServeConfig
    inside: Sequence[str] = ()
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def address(self) -> str:
        """The address of the front."""
        return f"http://{self.config.host}:{self.config.port}"

    @property
    def errors(self) -> Path:
        """What its processes write."""
        return Path(f"{self.config.state}.errors")

    def start(self) -> None:
        """Start the supervisor, which starts the others."""
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        variables = os.environ | {VARIABLE: self.config.to_json(), "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        command = [*self.inside, sys.executable, "-m", MODULE]
        with self.errors.open("ab") as file:
            self.process = subprocess.Popen(command, env=variables, stdout=file, stderr=file, cwd=ROOT)

    def wait_ready(self) -> None:
        """Return when questions are answered."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.is_ready():
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.name} is not ready: {self.errors.read_text()[-2000:]}")

    def is_ready(self) -> bool:
        """Return whether questions are answered."""
        with suppress(URLError, OSError), urlopen(f"{self.address}/health/ready", timeout=5) as reply:
            return bool(reply.status == 200)
        return False

    def kill(self, what: str) -> bool:
        """Kill the `keeper`, the `front`, or the `host` with all its processes. Return whether there was one."""
        if self.process is None or self.process.poll() is not None:
            return False
        parts = children(self.process.pid)
        if what != "host":
            found = [pid for pid in parts if what in command_of(pid)]
            return sum(end_now(pid) for pid in found) > 0
        self.process.kill()  # first, so that it starts none of the others again
        for pid in parts:
            end_now(pid)
        self.process.wait()
        return True

    def stop(self) -> None:
        """Ask the supervisor to end, and kill it if it does not."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill("host")


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = list[int]()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(one) for one in task.read_text().split()]
    return found


def command_of(pid: int) -> list[str]:
    """Return the command line of a process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    return []


def end_now(pid: int) -> bool:
    """Kill a process; return whether it was there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def open_vault(path: Path) -> Vault:
    """Open a vault with the toy model."""
    return Vault.open(path, model=ToyModel(default="yes"))


def commands() -> dict[str, Sequence[str]]:
    """Return how the processes of a server are started: the keeper with the toy model, the front unchanged."""
    return {
        "keeper": [sys.executable, "-m", MODULE, "keeper"],
        "front": [sys.executable, "-m", "discreet_server.launch", "front"],
    }


def main() -> int:
    """Run the keeper, or the supervisor."""
    config = ServeConfig.from_environment()
    if sys.argv[1:] == ["keeper"]:
        end_with_parent(signal.SIGTERM)
        return keep(config, open_vault)
    return Supervisor(config, lambda line: print(line, flush=True), commands()).run()


if __name__ == "__main__":
    sys.exit(main())

"""A Ray cluster as a process: python -m tests.ray_cluster PROCESSORS GPUS. It ends with its input.

The GPUs are said to be there, for tests of what Ray hands out.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from discreet.engines.ray import HERE, connect_ray, leave_ray

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Cluster:
    """A cluster: its address, and the process that started it."""

    address: str
    process: int

    def processes_of(self, actor: str) -> list[int]:
        """Return the processes of the actors of a class, or of the tasks of a function."""
        named = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _title(path) == actor]
        return [one for one in named if self.process in _ancestors(one)]


def _title(process: Path) -> str:
    try:
        title = (process / "cmdline").read_text().strip("\0 ")
    except OSError:
        return ""
    return title.removeprefix("ray::").partition(".")[0].partition("(")[0] if title.startswith("ray::") else ""


def _ancestors(process: int) -> Iterator[int]:
    while process > 1:
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return
        yield process


@contextmanager
def cluster(processors: int = 2, gpus: int = 0) -> Iterator[Cluster]:
    """A cluster on this machine that other processes may join."""
    command = [sys.executable, "-m", "tests.ray_cluster", str(processors), str(gpus)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            said = ""
            while not said.startswith("cluster "):
                said = process.stdout.readline()
                assert said
            yield Cluster(said.split()[1], process.pid)
        finally:
            process.stdin.close()


if __name__ == "__main__":
    import ray  # not above: a process that imports it early shows no token to a cluster

    processors, gpus = map(int, sys.argv[1:])
    if gpus:
        ray.init = partial(ray.init, num_gpus=gpus)
    connect_ray(HERE, processors)
    print("cluster", ray.get_runtime_context().gcs_address, flush=True)
    sys.stdin.read()
    leave_ray(HERE)

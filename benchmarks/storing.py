"""How fast `discreet add` stores files of mixed kinds, from the folder to the vault: files a minute, and the memory.

    .venv/bin/python -m benchmarks.reading --add [--files 10000] [--seed 0]

The embedder is `hashing`, so that what is measured is reading and storing. Memory is what the process and all that it
started hold at the same time (resident; what they share counts in each), looked at ten times a second (Linux).
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

PAGE = 4096
ADD = ("--each-file-a-unit", "--yes", "--json")


def store(files: Path, vault: Path) -> None:
    """Add all files of a folder to a new vault, and print the figures."""
    made = ("--epsilon", "20", "--delta", "1e-6", "--embedder", "hashing", "--unit-field", "patient")
    subprocess.run([sys.executable, "-m", "discreet", "init", vault, *made], check=True, stdout=subprocess.DEVNULL)
    count = sum(path.is_file() for path in files.rglob("*"))
    start, most, own = time.perf_counter(), 0, 0
    command = [sys.executable, "-m", "discreet", "add", str(vault), str(files), *ADD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        while running.poll() is None:
            own = max(own, _resident(running.pid))
            most = max(most, _all_resident(running.pid))
            time.sleep(0.1)
        printed = running.stdout.read() if running.stdout else ""
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime
    added = json.loads(printed)
    assert not added["bad"], added["bad"][:3]
    size = sum(path.stat().st_size for path in vault.rglob("*") if path.is_file())
    peaks = "peak of the process | with its children"
    print(f"| files | documents | units | seconds | files a minute | CPU seconds | {peaks} | vault |")
    print("|" + " --- |" * 9)
    speed = f"{seconds:.0f} | {60 * count / seconds:,.0f} | {cpu:.0f}"
    print(
        f"| {count:,} | {added['added']:,} | {added['units']:,} | {speed} | {own >> 20} MiB | {most >> 20} MiB | "
        f"{size >> 20} MiB |"
    )


def _all_resident(pid: int) -> int:
    """What a process and all that it started hold, in bytes."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    return _resident(pid) + sum(_all_resident(int(child)) for child in children)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0

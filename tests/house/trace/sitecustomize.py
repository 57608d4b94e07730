"""Records the files of the program whose functions run in this process: Python loads this module when it starts.

`tests/house/size.py` puts this folder on PYTHONPATH. A function that runs while a module is imported is not recorded.
A file called `begin` in the folder $DISCREET_TRACE starts the record anew; the record is written twice a second.
"""

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

_FOLDER = Path(os.environ["DISCREET_TRACE"])
_HOMES = tuple(os.environ["DISCREET_TRACE_SOURCES"].split(os.pathsep))
_PAUSE = 0.5
_ran: set[str] = set()
_importing = threading.local()


def _record(frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
    """Record the file of a function that begins. Follow a module to its end, and nothing else."""
    if event != "call":
        return None
    code = frame.f_code
    if code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
        _importing.depth = getattr(_importing, "depth", 0) + 1
        frame.f_trace_lines = False
        return _end
    if code.co_filename not in _ran and code.co_filename.startswith(_HOMES) and not getattr(_importing, "depth", 0):
        _ran.add(code.co_filename)
    return None


def _end(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
    if event == "return":
        _importing.depth -= 1
    return _end


def _write() -> None:
    unfinished = _FOLDER / f"{os.getpid()}-{threading.get_ident()}.part"
    unfinished.write_text("\n".join(sorted(_ran)))
    # The process may end while this thread writes: no half-written record takes the place of a whole one.
    unfinished.replace(_FOLDER / f"{os.getpid()}.ran")


def _follow() -> None:
    begun = False
    while True:
        if not begun and (_FOLDER / "begin").exists():
            begun = True
            _ran.clear()
        _write()
        time.sleep(_PAUSE)


if not sys.argv or "pip" not in sys.argv[0]:
    threading.Thread(target=_follow, daemon=True).start()
    threading.settrace(_record)
    sys.settrace(_record)
    atexit.register(_write)

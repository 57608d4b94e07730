"""Starts the processes of a server, starts those again that die, and ends them when it is asked to."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.models.endpoint import KEY, PARSER_KEY
from discreet.system.words import quoted
from discreet_server.config import VARIABLE, ServeConfig
from discreet_server.front.pacing import default_quantum
from discreet_server.keeper.hardening import with_time
from discreet_server.launch import MODULES
from discreet_server.sockets import KeeperGone, call_once
from discreet_server.state_folder import (
    check_ports,
    find_ports,
    find_user,
    hold_state,
    listens,
    make_link,
    prepare_state,
)
from discreet_server.wire import ANALYSTS, LANES, Catalog, Catalogued, Lane, Readied, Ready

Say = Callable[[str], None]
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0
"""Seconds before a process that died is started again: doubled each time, up to the longest."""
_STEADY = 60.0
"""Seconds after which a process counts as well, and its waits begin anew."""
_STEP = 0.1
_HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PASSWORD = "PGPASSWORD"
_MOST_FAILURES = 5
"""So often a process may end before the server was ever ready; then the server ends."""


READY = "Ready:"
"""How the line begins, after its time, that says that questions are answered."""


@dataclass
class Child:
    """A process of the server.

    Attributes:
        name: "keeper", "front" or "desk".
        command: how it is started.
        user: as whom it runs; "" for the supervisor's own.
        process: the one that runs, if one does.
        started: when, on the monotonic clock.
        due: when it is started again.
        wait: seconds before that.
        failures: how often it ended since it was last well.
    """

    name: str
    command: Sequence[str]
    user: str = ""
    process: "subprocess.Popen[bytes] | None" = None
    started: float = 0.0
    due: float = 0.0
    wait: float = _FIRST_WAIT
    failures: int = field(default=0)


class Supervisor:
    """Runs the processes of a server until SIGTERM or Ctrl-C.

    Args:
        config: the server's.
        say: told what happens, and when, a line at a time.
        commands: how processes are started, by name; the server's own modules if None.
    """

    def __init__(self, config: ServeConfig, say: Say, commands: Mapping[str, Sequence[str]] | None = None) -> None:
        self._config, self._tell = config, say
        argument_lists = own_commands(config) if commands is None else commands
        self._keeper = Child("keeper", argument_lists["keeper"])
        self._others = [
            Child(name, command, config.front_user if name == "front" else "")
            for name, command in argument_lists.items()
            if name != "keeper"
        ]
        self._ending = threading.Event()
        self._hurried = threading.Event()

    def run(self) -> int:
        """Run until a signal; return the exit code.

        Raises:
            UsageError: if the folder cannot be made, if another server holds it, if the front's user could read a
                vault, or if a port is taken.
        """
        prepare_state(self._config)
        with hold_state(self._config, self._say):
            check_ports(self._config, *(child.name for child in self._others))
            return self._supervise()

    def _supervise(self) -> int:
        before = {number: signal.signal(number, self._hear) for number in _HEARD}
        try:
            return self._run()
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _say(self, line: str) -> None:
        self._tell(with_time(line))

    def _hear(self, *_: object) -> None:
        if self._ending.is_set():
            self._hurried.set()
        self._ending.set()

    def _run(self) -> int:
        self._start(self._keeper)
        measured = self._config.quantum is None
        self._say(f"The keeper opens the vaults{' and measures the longest answer' if measured else ''}.")
        running, places = [self._keeper], find_ports(self._config)
        begun = ready = False
        while not self._ending.wait(_STEP):
            for child in running:
                self._look_after(child)
                if not ready and child.failures >= _MOST_FAILURES:
                    look = "; ".join(f"discreet doctor {quoted(vault.path)}" for vault in self._config.vaults)
                    hint = f" Look at each vault: {look}" if child is self._keeper else ""
                    self._say(f"The {child.name} cannot start.{hint}")
                    return 1
            if not begun and is_ready(self._config.ask_socket):
                begun = True
                for child in self._others:
                    self._start(child)
                running += self._others
                if measured and (longest := longest_answers(self._config.ask_socket)):
                    quanta = ", ".join(f"{lane}: {default_quantum(longest[lane]):.3g} s" for lane in LANES)
                    self._say(f"Answers leave at multiples of a time ({quanta}). --quantum SECONDS sets another.")
            if begun and not ready and all(listens(*places[child.name]) for child in self._others):
                ready = True
                self._say(f"{READY} {self._config.url}")
                if any(child.name == "desk" for child in self._others):
                    self._say(f"For the custodian, once, within an hour: {make_link(self._config)}")
        return 0

    def _start(self, child: Child) -> None:
        environment = os.environ | {VARIABLE: self._config.to_json()}
        if child.name != "keeper":
            for key in (KEY, PARSER_KEY):
                environment.pop(key, None)  # of a model's server: the others ask no model
        if child.name == "front":
            environment.pop(_PASSWORD, None)  # of the documents' database
        # A session of its own: Ctrl-C on the terminal is for the supervisor, which asks the others to end.
        child.process = subprocess.Popen(
            child.command,
            env=environment,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            user=child.user or None,
            group=find_user(child.user).pw_gid if child.user else None,
            extra_groups=[] if child.user else None,
        )
        child.started = time.monotonic()

    def _look_after(self, child: Child) -> None:
        """Start a process again that ended, after a while."""
        now = time.monotonic()
        if child.process is None:
            if now >= child.due:
                self._start(child)
            return
        code = child.process.poll()
        if code is None:
            return
        if now - child.started > _STEADY:
            child.wait, child.failures = _FIRST_WAIT, 0
        child.process, child.due, child.failures = None, now + child.wait, child.failures + 1
        self._say(f"The {child.name} ended ({_outcome(code)}). It is started again in {child.wait:g} s.")
        child.wait = min(2 * child.wait, _LONGEST_WAIT)

    def _end(self) -> None:
        """Ask all processes to end, and wait: the question that runs is answered. A second signal kills."""
        running = [child for child in [*self._others, self._keeper] if child.process is not None]
        if running:
            self._say("Ending: the question that runs is answered first. Again to end at once.")
        for child in running:
            _send(child, signal.SIGTERM)
        while any(child.process is not None and child.process.poll() is None for child in running):
            if self._hurried.wait(_STEP):
                for child in running:
                    _send(child, signal.SIGKILL)
                self._hurried.clear()
        self._say("Ended.")


def own_commands(config: ServeConfig) -> dict[str, Sequence[str]]:
    """Return how the server's own processes are started."""
    names = [name for name in MODULES if name != "desk" or config.desk]
    return {name: [sys.executable, "-m", "discreet_server.launch", name] for name in names}


def is_ready(path: Path) -> bool:
    """Return whether the keeper at a socket can answer."""
    reply = _exchange(path, Ready())
    return isinstance(reply, Readied) and reply.loaded


def longest_answers(path: Path) -> dict[Lane, float]:
    """Return the seconds of the longest answer of each lane, from the keeper at a socket; none without a reply."""
    reply = _exchange(path, Catalog())
    return reply.longest() if isinstance(reply, Catalogued) else {}


def _exchange(path: Path, message: Ready | Catalog) -> Any:
    """Return the keeper's reply to a message; None if there is none."""
    try:
        return call_once(path, ANALYSTS, message, patience=2.0)
    except KeeperGone:
        return None


def _send(child: Child, number: int) -> None:
    with suppress(OSError):
        if child.process is not None:
            child.process.send_signal(number)


def _outcome(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"

"""The supervisor starts keeper and front, starts again what dies, and ends both when it is asked to."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import UsageError
from discreet_server.config import ServeConfig
from discreet_server.front.pacing import default_quantum
from discreet_server.state_folder import can_read, check_ports, hand_over, listens, prepare_state
from discreet_server.supervisor import Supervisor, is_ready, longest_answers
from discreet_server.wire import Answered
from tests.server.front.serving import free_port
from tests.server.keepers import ROOT, ask, config_of, environment, exchange, make_vault

NOBODY = "nobody"
TIMED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ")
"""How each line of a server begins."""
PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin") or sys.executable
"""An interpreter that every user can run: an environment may lie in a folder of one user."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to run the front as another user")

FRONT = """
import json, os, signal, socket, sys, time
from pathlib import Path
here = Path(sys.argv[1])
def end(*_):
    (here / "front.ended").touch()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
(here / "front.password").write_text(os.environ.get("PGPASSWORD", ""))
(here / "front.pid").write_text(str(os.getpid()))
time.sleep(float(os.environ.get("LATE", "0")))
listener = socket.create_server(("127.0.0.1", json.loads(os.environ["DISCREET_SERVE"])["port"]))
while True:
    time.sleep(0.05)
"""

SUPERVISED = """
import sys
from pathlib import Path
from discreet_server.config import ServeConfig
from discreet_server.supervisor import Supervisor
config = ServeConfig.from_environment()
commands = {
    "keeper": [sys.executable, "-m", "tests.server.toy_keeper"],
    "front": [sys.argv[3], "-c", sys.argv[1], sys.argv[2]],
}
sys.exit(Supervisor(config, lambda line: print(line, flush=True), commands).run())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are for one user."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o755)
        yield Path(made)


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.05)


def supervised(config: ServeConfig, here: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", SUPERVISED, FRONT, str(here), PYTHON]
    return subprocess.Popen(command, env=environment(config), cwd=ROOT, stdout=(here / "said").open("wb"))


def pid_of(here: Path) -> int:
    try:
        return int((here / "front.pid").read_text())
    except (OSError, ValueError):
        return 0


def test_supervisor_starts_again_what_dies_and_drains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "of the documents")
    config = config_of(make_vault(tmp_path / "v").path, port=free_port())
    running = supervised(config, tmp_path)
    try:
        until(lambda: pid_of(tmp_path) > 0)
        assert isinstance(exchange(config, ask()), Answered)
        first = pid_of(tmp_path)
        os.kill(first, signal.SIGKILL)
        until(lambda: pid_of(tmp_path) not in (0, first))
        keeper = next(pid for pid in children(running.pid) if pid != pid_of(tmp_path))
        os.kill(keeper, signal.SIGKILL)
        until(lambda: not is_ready(config.ask_socket))
        until(lambda: is_ready(config.ask_socket))
        assert exchange(config, ask()).answer["receipt"]["payment"] == "nobody"
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    finally:
        running.kill()
    said = (tmp_path / "said").read_text()
    assert all(TIMED.match(line) for line in said.splitlines())
    assert " The keeper opens the vaults.\n" in said  # with a quantum of one's own nothing is measured
    assert "Each reply leaves" not in said
    assert "The front ended (signal SIGKILL). It is started again in 0.5 s." in said
    assert "The keeper ended (signal SIGKILL)" in said
    assert said.endswith("Ended.\n")
    assert (tmp_path / "front.ended").exists()
    assert (tmp_path / "front.password").read_text() == ""
    assert not config.ask_socket.exists()


@pytest.mark.long
def test_supervisor_says_when_replies_leave(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = config_of(make_vault(tmp_path / "v").path, quantum=None, port=free_port())
    running = supervised(config, tmp_path)
    try:
        until(lambda: "Ready: " in (tmp_path / "said").read_text())
        said = (tmp_path / "said").read_text()
        assert " The keeper opens the vaults and measures the longest answer.\n" in said
        assert all(TIMED.match(line) for line in said.splitlines())
        for lane, seconds in longest_answers(config.ask_socket).items():
            assert f"{lane}: {default_quantum(seconds):.3g} s" in said
        assert "a statistic may take longer than the quantum" in capfd.readouterr().err  # no people are declared
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    finally:
        running.kill()


@pytest.mark.long
def test_ready_is_said_when_the_port_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATE", "1")
    config = config_of(make_vault(tmp_path / "v").path, port=free_port())
    for name, value in environment(config).items():
        monkeypatch.setenv(name, value)
    said: list[tuple[str, bool]] = []

    def say(line: str) -> None:
        said.append((line, listens("127.0.0.1", config.port)))
        if " Ready: " in line:
            os.kill(os.getpid(), signal.SIGTERM)

    commands = {
        "keeper": [sys.executable, "-m", "tests.server.toy_keeper"],
        "front": [PYTHON, "-c", FRONT, str(tmp_path)],
    }
    assert Supervisor(config, say, commands).run() == 0
    assert said[1][0].endswith(f" Ready: http://127.0.0.1:{config.port}/v1")
    assert said[1][1]


@pytest.mark.parametrize("option", ["--port", "--desk-port"])
def test_port_that_is_taken_ends_the_server_at_once(tmp_path: Path, option: str) -> None:
    path = make_vault(tmp_path / "v").path
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        other = "--desk-port" if option == "--port" else "--port"
        found = CliRunner().invoke(app, ["serve", str(path), option, port, other, str(free_port())])
        config = config_of(path, **{option[2:].replace("-", "_"): int(port)})
        name = "desk" if option == "--desk-port" else "front"
        alone = subprocess.run(
            [sys.executable, "-m", "discreet_server.launch", name],
            env=environment(config),
            capture_output=True,
            text=True,
            check=False,
        )
    assert (found.exit_code, alone.returncode) == (2, 2)
    for text in (found.output, alone.stderr):
        assert f"Port {port} of 127.0.0.1 cannot be used: Address already in use" in text
        assert f"{option} NUMBER" in text
    assert "Ready" not in found.output
    assert "The keeper" not in found.output


def test_one_port_for_front_and_desk_is_refused(tmp_path: Path) -> None:
    config = config_of(tmp_path / "v", port=(port := free_port()), desk_port=port)
    with pytest.raises(UsageError, match="--desk-port NUMBER"):
        check_ports(config, "front", "desk")
    check_ports(config, "desk")


def test_launched_process_ends_with_its_supervisor(tmp_path: Path) -> None:
    script = (
        "import signal, subprocess, sys, time\n"
        "child = 'import signal, sys; from discreet_server.keeper.hardening import end_with_parent; '\n"
        "child += 'end_with_parent(signal.SIGTERM); print(1, flush=True); signal.pause()'\n"
        "subprocess.run([sys.executable, '-c', child], start_new_session=True)"
    )
    config = config_of(tmp_path / "v")
    running = subprocess.Popen(
        [sys.executable, "-c", script], env=environment(config), stdout=subprocess.PIPE, cwd=ROOT
    )
    assert running.stdout is not None
    assert running.stdout.readline() == b"1\n"
    running.kill()
    assert running.stdout.read() == b""  # the child held it, and is gone
    running.wait()
    running.stdout.close()


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(one) for one in found.stdout.split()]


def test_state_is_for_the_custodian_alone(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    prepare_state(config)
    assert [os.stat(one).st_mode & 0o777 for one in (config.state, config.run, config.front)] == [0o700] * 3


def test_folder_that_another_could_exchange_is_refused(tmp_path: Path) -> None:
    config = config_of(make_vault(tmp_path / "v").path)
    aim = tmp_path / "aim"
    aim.mkdir(mode=0o755)
    aim.chmod(0o755)
    Path(config.state).mkdir()
    config.run.symlink_to(aim)
    with pytest.raises(UsageError, match="is a link"):
        prepare_state(config)
    assert aim.stat().st_mode & 0o777 == 0o755


@needs_root
def test_front_cannot_exchange_what_the_keeper_trusts(folder: Path) -> None:
    path = make_vault(folder / "v").path
    path.chmod(0o700)
    config = config_of(path, front_user=NOBODY)
    prepare_state(config)
    (config.run / "desk.link").write_text("secret")
    tries = (
        f"open({str(config.front / 'own')!r}, 'w').write('own')",
        f"import os; os.rename({str(config.run)!r}, {str(config.run) + '2'!r})",
        f"import os; os.rename({str(config.front)!r}, {str(config.front) + '2'!r})",
        f"open({str(config.run / 'ask.sock')!r}, 'w')",
        f"open({str(config.run / 'desk.link')!r}, 'w')",
        f"import os; os.mkdir({str(Path(config.state) / 'x')!r})",
        f"import os; os.listdir({str(config.uploads.parent)!r})",
    )
    done = [
        subprocess.run([PYTHON, "-I", "-S", "-c", code], user=NOBODY, extra_groups=[], cwd="/", check=False).returncode
        for code in tries
    ]
    assert done == [0, 1, 1, 1, 1, 1, 1]
    os.link(config.run / "desk.link", config.front / "accounts.sqlite")
    hand_over(config)
    assert (config.front / "accounts.sqlite").stat().st_uid == 0
    os.chown(config.state, config.front.stat().st_uid, -1)
    with pytest.raises(UsageError, match="belongs to the user"):
        prepare_state(config)


@needs_root
def test_front_of_another_user_asks_and_cannot_read_the_vault(folder: Path) -> None:
    path = make_vault(folder / "v").path
    path.chmod(0o700)
    config = config_of(path, front_user=NOBODY, port=free_port())
    here = folder / "here"
    here.mkdir()
    here.chmod(0o777)
    running = supervised(config, here)
    try:
        until(lambda: pid_of(here) > 0)
        status = Path(f"/proc/{pid_of(here)}/status").read_text()
        assert "Uid:\t0" not in status
        assert not can_read(NOBODY, str(path))
        assert not can_read(NOBODY, str(config.run / "keeper.lock"))
        script = (
            "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
            "s.sendall(b'POST /ready HTTP/1.1\\r\\nhost: k\\r\\nconnection: close\\r\\n' + "
            "b'content-length: 14\\r\\n\\r\\n{\"idle\":false}'); "
            "print(b''.join(iter(lambda: s.recv(999), b'')).decode())"
        )
        asked = [PYTHON, "-I", "-S", "-c", script, str(config.ask_socket)]
        reply = subprocess.run(asked, user=NOBODY, extra_groups=[], cwd="/", capture_output=True, check=True)
        assert b'"loaded":true' in reply.stdout
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    finally:
        running.kill()


@needs_root
def test_front_user_that_can_read_the_vault_is_refused(folder: Path) -> None:
    path = make_vault(folder / "v").path
    path.chmod(0o755)
    with pytest.raises(UsageError, match="chmod 700"):
        prepare_state(config_of(path, front_user=NOBODY))
    with pytest.raises(UsageError, match="useradd"):
        prepare_state(config_of(path, front_user="no-such-user"))

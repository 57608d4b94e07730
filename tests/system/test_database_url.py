"""The messages of a database that is out of reach, and of one that refuses."""

import pytest

from discreet.system.databases import is_refusal

AT = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: '


@pytest.mark.parametrize(
    "message",
    [
        f'{AT}FATAL:  password authentication failed for user "ana"',
        f'{AT}FATAL:  database "hospital" does not exist',
        f'{AT}FATAL:  no pg_hba.conf entry for host "10.0.0.2", user "ana", database "hospital", no encryption',
        f"{AT}server does not support SSL, but SSL was required",
        "fe_sendauth: no password supplied",
    ],
)
def test_answer_of_a_server_is_a_refusal(message: str) -> None:
    assert is_refusal(message)


@pytest.mark.parametrize(
    "message",
    [
        f"{AT}Connection refused",
        f"{AT}FATAL:  the database system is starting up",
        "consuming input failed: SSL SYSCALL error: Connection timed out",
        "failed to resolve host 'nowhere': [Errno -2] Name or service not known",
    ],
)
def test_server_out_of_reach_is_no_refusal(message: str) -> None:
    assert not is_refusal(message)

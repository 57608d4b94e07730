"""A vault under load: what units paid is what the ledger has, also where the meter of order infinity is full."""

import pytest

from discreet_lab.experiments.__main__ import main


@pytest.mark.long
@pytest.mark.parametrize("options", [["--payment", "corpus"], ["--defaults"]])
def test_every_charge_is_in_the_ledger(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["ledger", "load", "--askers", "2", "--seconds", "3", "--units", "60", *options])  # too short for memory
    assert "No charge is missing." in capsys.readouterr().out

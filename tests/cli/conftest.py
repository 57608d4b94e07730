"""Every `--json` that a test of the command line prints is checked against its schema."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.cli.json_schemas import check

invoke = CliRunner.invoke


@pytest.fixture(autouse=True)
def checked_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check what commands print with `--json`, in all tests of this folder."""

    def run(runner: CliRunner, app: Any, args: Sequence[str] | None = None, *given: Any, **named: Any) -> Result:
        result = invoke(runner, app, args, *given, **named)
        if args and "--json" in args and "--help" not in args:
            for line in result.stdout.splitlines():
                if line.startswith("{"):
                    check(args, json.loads(line))
        return result

    monkeypatch.setattr(CliRunner, "invoke", run)

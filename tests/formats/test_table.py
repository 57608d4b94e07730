"""The page of maintenance names the formats that the code has, and every requirement has a pinned version."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from discreet import config
from discreet.export import vectors
from discreet.ledger import migrations, postgres_tables
from discreet.operations import manifest
from discreet.retrieval import schema
from discreet.retrieval.postgres import tables
from discreet.server.accounts import database
from discreet.synthesis import checkpoint

ROOT = Path(__file__).parents[2]
FORMATS = {
    "settings": config.VERSION,
    "ledger in SQLite": len(migrations.MIGRATIONS),
    "ledger in PostgreSQL": postgres_tables.VERSION,
    "store": schema.VERSION,
    "documents in PostgreSQL": tables.VERSION,
    "accounts of analysts": database.FORMAT,
    "backup": manifest._FORMAT,
    "run of a synthesis": checkpoint.VERSION,
    "exported vectors": vectors._FORMAT,
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WANTED = sorted(
    {line for group in PROJECT["optional-dependencies"].values() for line in group if "discreet" not in line}
)


@pytest.mark.parametrize("what", FORMATS)
def test_page_of_maintenance_has_the_format(what: str) -> None:
    rows = re.findall(rf"^\| {what}[^|]*\| (\d+) \|", (ROOT / "docs/maintenance.md").read_text(), re.MULTILINE)
    assert rows == [str(FORMATS[what])]


@pytest.mark.parametrize("wanted", [*PROJECT["dependencies"], *WANTED])
def test_requirement_is_pinned_to_a_version_that_fits(wanted: str) -> None:
    lines = (line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if line)
    pinned = {canonicalize_name(name): version for name, version in lines}
    requirement = Requirement(wanted)
    assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)])

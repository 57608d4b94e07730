"""The experiments and their parts, and the tables of the documentation that each part prints."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROVENANCE = ROOT / "docs" / "results" / "data" / "provenance.json"
COMMAND = re.compile(r"-m discreet_lab\.experiments +([\w-]+)(?: +([\w-]+))?")


@dataclass(frozen=True)
class Experiment:
    """An experiment.

    Attributes:
        summary: what it is about, in one line.
        parts: for each part, the function that runs it, as "module:function" of this package.
    """

    summary: str
    parts: Mapping[str, str]


EXPERIMENTS = {
    "files": Experiment(
        "Files of custodians: exports to play the first hour with, and how fast files are read and added",
        {"exports": "files:write_exports", "speed": "files:time_files", "scans": "files:time_scans"},
    ),
    "accuracy": Experiment(
        "How often statistics, codes, themes and choices are right, and what a grant pays for",
        {
            "statistics": "accuracy_of_statistics:measure_statistics",
            "kinds": "kinds:measure_kinds",
            "codes": "codes:measure_codes",
            "understanding": "understanding:ask_clinic",
            "themes": "themes:measure_themes",
            "grants": "grants:tabulate_grants",
            "choices": "choices:compare_choices",
        },
    ),
    "streams": Experiment(
        "Many questions from one grant",
        {"stream": "streams:run_stream_settings"},
    ),
    "serving": Experiment(
        "The server under load, when its replies come, and real clients",
        {
            "replies": "serving:time_replies",
            "load": "serving:measure_load",
            "clients": "serving_clients:charge_clients",
        },
    ),
    "speed": Experiment(
        "Whether a language model runs on this machine as it should, and how fast",
        {"models": "speed:measure_models"},
    ),
    "side-channels": Experiment(
        "What the time of an answer tells",
        {"time": "side_channels:time_releases", "http": "side_channels:attack_by_time"},
    ),
    "ledger": Experiment(
        "What a payment costs",
        {"payments": "ledger:time_payments"},
    ),
    "scale": Experiment(
        "What each step costs with many records",
        {"steps": "scale:measure_steps"},
    ),
    "attacks": Experiment(
        "What attackers find out from answers, from votes and from statistics",
        {
            "answers": "attacks:attack_answers",
            "votes": "attacks:attack_votes",
            "statistics": "attacks:attack_statistics",
        },
    ),
    "audits": Experiment(
        "The exact price of the leader's selection, and fuzzing",
        {
            "leader": "audits:compare_leader_prices",
            "fuzz": "audits:fuzz_inputs",
        },
    ),
}


def printed_tables() -> dict[tuple[str, str], list[str]]:
    """Return the tables of the documentation that each part prints; none outside of a checkout."""
    printed: dict[tuple[str, str], list[str]] = {}
    provenance = json.loads(PROVENANCE.read_text(encoding="utf-8")) if PROVENANCE.exists() else {}
    for table, told in provenance.items():
        for name, word in set(COMMAND.findall("\n".join(told.get("commands", ())))):
            if name in EXPERIMENTS and word in EXPERIMENTS[name].parts:
                printed.setdefault((name, word), []).append(table)
    return printed

"""The commands of the laboratory, which `discreet` finds by entry points. Each is loaded when it is called."""

from discreet.plugins import PluginCommand

_HEADING = "Measure"
EVAL = PluginCommand(
    "discreet_lab.cli.evaluate", "Measure accuracy on questions with known answers.", _HEADING, {"eval": "Evaluation"}
)
ATTACK = PluginCommand(
    "discreet_lab.cli.attack", "Attack copies of the vault.", _HEADING, {"attack": "report.AttackShown"}
)
AUDIT = PluginCommand(
    "discreet_lab.cli.audit", "Search for more privacy loss than is claimed.", _HEADING, {"audit": "AuditShown"}
)
CLAIM = PluginCommand(
    "discreet_lab.cli.claim",
    "Compute published claims that are no guarantees.",
    _HEADING,
    {"claim-distinguish": "discreet_lab.attacks.distinguish:Distinguished", "claim-projection": "ProjectionShown"},
)
BENCH = PluginCommand(
    "discreet_lab.cli.bench",
    "Rerun a table or figure of a paper on the data at hand.",
    _HEADING,
    {"bench": "discreet_lab.bench.result:BenchShown", "bench-tables": "TableList"},
)
DATASET = PluginCommand(
    "discreet_lab.cli.dataset",
    "Turn a published data set of a paper into documents and questions.",
    _HEADING,
    {"dataset": "DatasetShown"},
)

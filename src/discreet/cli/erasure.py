"""`discreet erasure-report`: show what was erased of an individual, and what remains."""

from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.cli.unit_names import check_filled, unknown_unit
from discreet.errors import UsageError
from discreet.operations.erasure import ErasureReport, erasure_report
from discreet.vault import Vault


@app.command(name="erasure-report")
@explained
def erasure_report_(
    vault: VaultPath,
    unit: Annotated[str, typer.Option("--unit", help="The individual's name, in any spelling.")],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Report on an individual that is not in the vault, and is not erased.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what was erased of an individual, what remains, and why. For the custodian only."""
    opened = Vault.open(vault)
    if not anyway:
        check_filled(opened)
    report = erasure_report(opened, unit)
    if not (report.knows or anyway):
        raise UsageError(
            f"{unknown_unit(opened, unit)} No individual of this name is erased, either. For a report "
            "nevertheless, add --anyway."
        )
    if as_json:
        print_json(report)
        return
    out.print(f"The individual '{report.unit}' in the vault at {vault}", markup=False)
    out.print(f"  {_what_happened(report)}", markup=False)
    if report.spent is not None:
        out.print(f"  Charges of the individual: epsilon {report.spent:.4g} of {report.granted:g}.", markup=False)
    out.print("What remains, and why:")
    for one in report.remains:
        out.print(f"  - {one.what}\n    {one.why}.", markup=False)


def _what_happened(report: ErasureReport) -> str:
    held = f"The vault has {counted(report.documents, 'document')} of the individual"
    if not report.knows:
        return "No individual of this name is in the vault, and none is erased."
    if report.erased is None:
        return f"Not erased. {held}."
    when = report.erased.replace("T", " ").removesuffix("+00:00")
    return f"Erased on {when} UTC with {counted(report.erased_documents, 'document')}. {held}."

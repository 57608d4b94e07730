"""Uploads on their way into a vault: looked through, then added. The desk wrote them into a folder of their own."""

import re
from collections.abc import Callable
from pathlib import Path

from discreet.errors import UsageError
from discreet.reading.intake import Intake
from discreet.reading.units import UnitRules
from discreet.server.config import ServeConfig
from discreet.server.custody_messages import Add, Added, HowRead, Preview, Previewed, Refusal
from discreet.vault import Vault
from discreet.vault.documents import How

FILES, MANIFEST = "files", "manifest"
"""In the folder of an upload: the folder of its files, and that of the manifest."""
_UPLOAD = re.compile("[0-9a-f]{32}")


def preview_upload(vault: Vault, message: Preview, config: ServeConfig) -> Previewed:
    """Return what would be added.

    Raises:
        UsageError, BadData: as `Vault.intake`.
    """
    seen = _intake(vault, message.upload, message.how, config).preview
    return Previewed(seen.summary, seen.describe())


def add_upload(vault: Vault, message: Add, config: ServeConfig, told: Callable[[str, int, int], None]) -> Added:
    """Add an upload.

    Raises:
        UsageError, BadData, StoreError: as `Vault.take_in`.
    """
    intake = _intake(vault, message.upload, message.how, config)
    done, records = 0, intake.preview.records

    def advance(_: str, count: int) -> None:
        nonlocal done
        done += count
        told("documents", done, records)

    added = vault.take_in(intake, advance)
    return Added(
        added=added.added,
        replaced=added.replaced,
        unchanged=added.unchanged,
        batch=added.batch,
        bad=tuple(Refusal(one.where, one.reason) for one in (*added.bad, *added.erased)),
        in_part=tuple(Refusal(one.where, one.reason) for one in (*added.in_part, *added.empty)),
    )


def _intake(vault: Vault, upload: str, how: HowRead, config: ServeConfig) -> Intake:
    if not _UPLOAD.fullmatch(upload):
        raise UsageError("The upload has no valid id. Upload the files again.")
    folder = config.uploads / upload
    if not (folder / FILES).is_dir():
        raise UsageError("The upload is not there any more. Upload the files again.")
    rules = UnitRules(
        manifest=_manifest(folder) if how.manifest else None,
        pattern=how.unit_from,
        each_file=how.each_file,
        each_record=how.each_record,
    )
    return vault.intake(
        folder / FILES,
        **How(
            text_field=how.text_field or "text",
            unit_field=how.unit_field or None,
            id_field=how.id_field or "id",
            units=rules,
        ),
    )


def _manifest(folder: Path) -> Path:
    found = sorted((folder / MANIFEST).iterdir()) if (folder / MANIFEST).is_dir() else []
    if not found:
        raise UsageError("The upload has no manifest. Upload it again, with the manifest.")
    return found[0]

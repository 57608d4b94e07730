"""Hooks of MkDocs: pages from files at the root of the repository, with their links mended."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Return `files`, with the files of the root added as pages."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_LINK.sub(_mended, text)))
    return files


def _mended(link: re.Match[str]) -> str:
    """Return a link of a file of the root as a link of a page: `docs/x.md` becomes `x.md`."""
    target, anchor = link[1], link[2] or ""
    return f"]({PAGES.get(target, target.removeprefix('docs/'))}{anchor})"

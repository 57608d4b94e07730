"""The report as a PDF: Markdown by pandoc to Typst, and by Typst to a PDF.

    make report        # docs/report/report.pdf, in an environment of its own (200 MB)

Tables are those of the page, which `python -m benchmarks.tables` writes from `docs/results/data`.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pypandoc
import typst

REPORT = Path(__file__).parents[1] / "docs" / "report"
STYLE = """\
#show table: set text(size: 7.5pt)
#show figure: set block(breakable: true)
#show raw: set text(size: 0.9em)
"""


def main() -> None:
    """Write the PDF beside the page."""
    page = re.sub(r"^<!-- .*? -->\n", "", (REPORT / "report.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    page = re.sub(r"^The whole table has .*\n", "", page, flags=re.MULTILINE)
    options = ["--citeproc", "--standalone", f"--bibliography={REPORT / 'references.bib'}"]
    options += ["--variable=fontsize:10pt", "--variable=margin.x:2.2cm", "--variable=margin.y:2.2cm"]
    written = pypandoc.convert_text(page, "typst", format="markdown", extra_args=options)
    with TemporaryDirectory() as folder:
        source = Path(folder) / "report.typ"
        source.write_text(STYLE + written, encoding="utf-8")
        typst.compile(source, output=REPORT / "report.pdf")
    print(f"Written: {REPORT.relative_to(Path.cwd())}/report.pdf")


if __name__ == "__main__":
    main()

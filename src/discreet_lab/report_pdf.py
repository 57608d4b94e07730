"""The report as a PDF: Markdown by pandoc to Typst, and by Typst to a PDF.

    make report        # docs/report/report.pdf, in an environment of its own (200 MB)

Tables are those of the page, which `python -m discreet_lab.docs_tables` writes from `docs/results/data`.
An emphasised text below a figure is its caption, and its number is that of the page.
"""

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pypandoc
import typst

REPORT = Path(__file__).parents[2] / "docs" / "report"
STYLE = """\
#show table: set text(size: 7.5pt)
#show figure: set block(breakable: true)
#show figure.where(kind: image): set block(breakable: false)
#show raw: set text(size: 0.9em)
#show raw.where(block: false): it => { show regex("[_/.]"): mark => mark + sym.zws; it }
#set image(height: 5cm)
#show figure.caption: set text(size: 8.5pt)
#show <refs>: set text(size: 8.5pt)
"""
CAPTION = re.compile(r"^!\[[^\]]*\]\((\S+)\)\n\*Figure \d+: (.*?)\*$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Write the PDF beside the page."""
    page = re.sub(r"^<!-- .*? -->\n", "", (REPORT / "report.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    page = re.sub(r"^The whole table has .*\n", "", page, flags=re.MULTILINE)
    page = CAPTION.sub(r"![\2](\1)", page)
    options = ["--citeproc", "--standalone", f"--bibliography={REPORT / 'references.bib'}"]
    options += ["--variable=fontsize:10pt"]
    written = pypandoc.convert_text(page, "typst", format="markdown", extra_args=options)
    with TemporaryDirectory() as folder:
        shutil.copytree(REPORT.parent / "figures", Path(folder) / "figures")
        source = Path(folder) / "report" / "report.typ"
        source.parent.mkdir()
        source.write_text(STYLE + written, encoding="utf-8")
        typst.compile(source, root=folder, output=REPORT / "report.pdf")
    print(f"Written: {REPORT.relative_to(Path.cwd())}/report.pdf")


if __name__ == "__main__":
    main()

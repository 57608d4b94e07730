"""The texts of a synthetic corpus that the model thinks of use for a task: what `discreet synthesize --task` keeps.

    .venv/bin/python -m benchmarks.filtering CORPUS.jsonl FOLDER "TASK" ["TASK" ...]

For each task, FOLDER/task-1.jsonl and so on, with a receipt, for benchmarks/synthesis.py to ask; and a line of
Markdown: how many texts are kept, and of how many the model says Yes if it is asked whether they are of use, as the
paper does. The texts are public, so nothing is drawn and nothing is paid.
"""

import argparse
import json
import shutil
from pathlib import Path

from benchmarks.models import add_model_option, asked_model
from benchmarks.writing import TableWriter, add_csv_option

from discreet.generation.model import Prompt, ScoringModel
from discreet.synthesis.dp_synrag.select import check_task, useful
from discreet.synthesis.runner import receipt_path

SYSTEM = "Say whether a text is of use for a task. Answer Yes or No."
ASKED = "Task: {task}\n\nText: {text}\n\nIs the text of use for the task?"
EXAMPLES = (
    ("answer questions about bridges", "The review of the Orly bridge was moved to Friday.", "Yes"),
    ("answer questions about bridges", "I am not sure what you mean by that.", "No"),
)


def says_yes(model: ScoringModel, task: str, text: str) -> bool:
    """Whether the model thinks Yes likelier than No, as the paper asks it."""
    opening, closing = model.chat(SYSTEM, [(ASKED.format(task=of, text=about), said) for of, about, said in EXAMPLES])
    prompt = Prompt((*opening, *model.encode(ASKED.format(task=task, text=text)), *closing), 0)
    yes, no = (model.encode(word)[0] for word in ("Yes", "No"))
    logits = model.start((), [prompt], 1).logits()[0]
    return bool(logits[yes] > logits[no])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tasks", nargs="+")
    add_model_option(parser)
    add_csv_option(parser)
    options = parser.parse_args()
    lines = options.corpus.read_text(encoding="utf-8").splitlines()
    texts = [str(json.loads(line)["text"]) for line in lines]
    model = asked_model(options.model)
    table = TableWriter(["task", "texts kept", "the model says Yes of"], options.csv)
    for number, task in enumerate(options.tasks, 1):
        check_task(model, task)
        judged = useful(model, task, texts)
        out = options.folder / f"task-{number}.jsonl"
        out.write_text("".join(f"{line}\n" for line, use in zip(lines, judged, strict=True) if use), encoding="utf-8")
        shutil.copy(receipt_path(options.corpus), receipt_path(out))
        said = sum(says_yes(model, task, text) for text in texts)
        table.write([task, f"{sum(judged)} of {len(texts)}", str(said)])


if __name__ == "__main__":
    main()

"""Tang, Flemings, Wang and Annavaram: keywords that voters have in common."""

from discreet_lab.bench.table import BenchTable, Data, Paper, Reported

PAPER = Paper(
    "dp-ksa",
    "Tang, Flemings, Wang and Annavaram",
    "Differentially Private Retrieval-Augmented Generation",
    ("Qwen 2.5 3B", "Llama 3.2 3B", "Llama 3.1 8B"),
    1e-4,
    "DPR",
    100,
)
SPLIT = "epsilon is divided otherwise between the choice of k and the test, and words of the question do not count"
_LIKENESS = ("F1", "ROUGE-1", "ROUGE-L", "Levenshtein", "passed")
_KEYS = ("algorithm", "epsilon")

TABLES = (
    BenchTable(
        name="ksa-epsilon",
        paper=PAPER,
        where="Figures 5 and 6",
        shows="F1, ROUGE-1, ROUGE-L and Levenshtein similarity against epsilon",
        experiment="answers",
        sweep={
            "algorithm": ("non-rag", "rag", "ksa", "dp-ksa"),
            "voters": (80,),
            "epsilon": (1.0, 2.0, 3.0, 5.0, 8.0),
        },
        quick={"voters": (40,), "epsilon": (2.0, 8.0)},
        columns=_LIKENESS,
        found="DP-KSA exceeds Non-RAG from epsilon 2 or 3 on, and at times KSA without noise.",
        ours=SPLIT,
        reported=(
            Reported(
                "Section 6.2.1, NQ, Llama 3.2 (3B)",
                "F1",
                _KEYS,
                {("non-rag", None): 0.2167, ("dp-ksa", 2.0): 0.2255, ("dp-ksa", 8.0): 0.2518},
                Data.KNOWLEDGE,
            ),
            Reported(
                "Section 6.2.2, TQA, Llama 3.2 (3B)",
                "F1",
                _KEYS,
                {("non-rag", None): 0.5512, ("dp-ksa", 5.0): 0.5692},
                Data.KNOWLEDGE,
            ),
        ),
    ),
    BenchTable(
        name="ksa-pass-rate",
        paper=PAPER,
        where="Figure 7",
        shows="pass rate of the test by epsilon and voters",
        experiment="answers",
        sweep={"algorithm": ("dp-ksa",), "voters": (40, 80), "epsilon": (1.0, 2.0, 3.0, 5.0, 8.0)},
        quick={"voters": (40,), "epsilon": (1.0, 3.0, 8.0)},
        columns=("passed", "accuracy"),
        found="The pass rate rises with epsilon; no number stands in the text.",
        ours=f"{SPLIT}; the number of released words is chosen with twice the paper's noise",
    ),
    BenchTable(
        name="ksa-keywords",
        paper=PAPER,
        where="Section 4.2, the range of k",
        shows="pass rate and F1 by the largest number of released keywords",
        experiment="answers",
        sweep={"algorithm": ("ksa", "dp-ksa"), "voters": (40,), "most_keywords": (5, 10, 20, 40), "epsilon": (3.0,)},
        quick={"most_keywords": (5, 20)},
        columns=("passed", "accuracy", "F1"),
        found="The paper chooses k privately within a range, and has no sweep of the range.",
        ours=SPLIT,
    ),
    BenchTable(
        name="ksa-ensembles",
        paper=PAPER,
        where="Figure 9",
        shows="pass rate and likeness by voters, at epsilon 3",
        experiment="answers",
        sweep={"algorithm": ("ksa", "dp-ksa"), "voters": (10, 20, 40, 60, 80, 100), "epsilon": (3.0,)},
        quick={"voters": (10, 40)},
        columns=(*_LIKENESS, "accuracy"),
        found="Flat from 10 to 40 voters, rising from 40 to 80, then flat.",
        ours=SPLIT,
    ),
    BenchTable(
        name="ksa-lengths",
        paper=PAPER,
        where="Figures 3 and 4",
        shows="lengths of the reference answers, in words",
        experiment="lengths",
        columns=("answers", "share"),
        found="Most answers have one to four tokens.",
        ours="words are counted in place of a model's tokens",
        limit=1000,
        quick_limit=1000,
        work="none: answers are counted",
    ),
)

"""What the sources may not do, read from their syntax: draw noise of their own, or open private values."""

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parents[3] / "src"
# Experiments draw data to measure with, and release nothing. They were scripts outside of src until they moved there.
EXPERIMENTS = SRC / "discreet_lab/experiments"
SOURCES = sorted(path for path in SRC.rglob("*.py") if not path.is_relative_to(EXPERIMENTS))
# Names that make randomness, as the last part of a call or an import.
DRAWING = set(
    """default_rng Generator RandomState SystemRandom manual_seed rand randn randint randperm multinomial bernoulli
    normal laplace gumbel exponential geometric uniform_ normal_ exponential_ bernoulli_ shuffle""".split()
)
LIBRARIES = {"random", "numpy.random", "torch.distributions", "torch.random"}
ALLOWED = {
    "mechanisms": {"noise.laplace"},  # asking the Noise that a mechanism was given
    "audit": {"self.noise.laplace"},  # a broken twin, which asks the Noise that it was given for less
    "bench": {"random", "choose.randint"},  # made-up mails, drawn from a seed
    "demo": {"random", "choose.shuffle"},  # made-up people, drawn from a seed
    "privacy": {"secrets.SystemRandom", "secrets.SystemRandom().shuffle"},  # the operating system's
}


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def drawing(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in DRAWING:
            yield ast.unparse(node)


def without(tree: ast.Module, name: str) -> ast.Module:
    kept = [node for node in tree.body if not (isinstance(node, ast.ClassDef) and node.name == name)]
    return ast.Module(kept, [])


def offences(path: Path, text: str) -> set[str]:
    tree = ast.parse(text)
    if path.name == "noise.py":
        tree = without(tree, "InsecureSeededNoise")
    found = {name for name in imported(tree) if name in LIBRARIES} | set(drawing(tree))
    return found - ALLOWED.get(path.parent.name, set())


def test_no_module_draws_noise_of_its_own() -> None:
    assert {path.name: found for path in SOURCES if (found := offences(path, path.read_text()))} == {}


def test_the_scan_finds_what_it_looks_for() -> None:
    for text in (
        "import random",
        "from random import gauss",
        "from numpy import random",
        "import numpy as np\nnp.random.default_rng(1)",
        "import torch\ntorch.rand(3)",
        "import torch\ntorch.multinomial(p, 1)",
        "tensor.normal_()",
    ):
        assert offences(Path("elsewhere.py"), text)
    assert not offences(Path("elsewhere.py"), "import secrets\nsecrets.randbelow(3)")
    assert not offences(Path("mechanisms/own.py"), "noise.laplace(2.0)")


def test_private_values_are_opened_in_three_files_alone() -> None:
    openers = {path.name for path in SOURCES if opens(ast.parse(path.read_text()))}
    assert openers == {"account.py", "filter.py", "partition.py"}


def opens(tree: ast.AST) -> bool:
    """Whether a module uses the one door, or goes through the wall: the mangled name of the shares."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {name.rsplit(".", 1)[-1] for name in imported(tree)}
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return bool(names & {"unseal", "_Private__shares"}) and "unseal" not in defined

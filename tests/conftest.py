import json
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.slow_tests import read_slow_tests
from tests.small_model import save_small_model

if TYPE_CHECKING:  # torch takes seconds: only the fixtures that need it import it
    from discreet.models.transformers_model import TransformersModel
    from discreet.vault import Vault

os.environ.setdefault("HF_HUB_OFFLINE", "1")
if not Path("/dev/nvidia0").exists():  # Triton's interpreter runs kernels on the processor, if set before Triton starts
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Where one of these is set, pytest writes the difference of two values out whole, also for an error that a test
# expects. For the codes of a broken twin that takes more than ten minutes.
for name in ("CI", "BUILD_NUMBER"):
    os.environ.pop(name, None)

# How long an example takes depends on what else the machine does; no test is about that. A failure is not shrunk:
# broken twins fail on purpose, and that takes longer than to find them. `--hypothesis-profile default` shrinks one.
hypothesis.settings.register_profile(
    "discreet", deadline=None, phases=[hypothesis.Phase.explicit, hypothesis.Phase.reuse, hypothesis.Phase.generate]
)
hypothesis.settings.load_profile("discreet")

Record = dict[str, object]

THOROUGH = (
    *(
        "adapters/",
        "guarantee/audit/",
        "bench/test_experiments.py",
        "docs/test_measuring.py",
        "fuzz/",
        "operations/",
        "guarantee/statistical/",
        "synthesis/dp_synrag/test_steps.py",
        "guarantee/synthesis/test_dp_facts.py",
        "synthesis/test_fact_extraction.py",
        "synthesis/test_runner.py",
        "synthesis/test_methods.py",
        "system/test_sharing.py",
    ),
    "guarantee/algorithms/test_adaptive.py",
    *(f"guarantee/algorithms/test_{name}.py" for name in "consensus_neighbours neighbours".split()),
    *("guarantee/algorithms/test_ksa.py::test_with_the_packaged_model", "baselines/test_projected.py"),
    *(
        "attacks/test_distinguish.py",
        "attacks/test_suite.py",
        "evaluation/",
        "guarantee/models/test_independence.py",
    ),
    *(f"cli/test_{name}.py" for name in "attack audit bad_input bench chat commands consensus public units".split()),
    *("cli/test_add.py::test_on_a_terminal", "models/test_model.py"),
    *(f"guarantee/ledger/test_{name}.py" for name in "postgres postgres_faults sqlite unit_faults".split()),
    *("planning/test_plan.py::test_plot", "guarantee/privacy/test_hindsight.py", "guarantee/privacy/test_keywords.py"),
    *("guarantee/privacy/test_mechanisms.py::TestClaims", "guarantee/privacy/test_twins.py", "files/test_sandbox.py"),
    "store/test_documents.py::test_fifty_megabytes",
    *("store/test_embedding.py", "store/test_sealed_corpus.py::test_a_vector_depends_on_its_text_alone"),
    *("store/test_erasure.py", "guarantee/export/"),
    "test_face.py::test_the_python_face",
    "cli/test_progress.py::test_command_on_a_terminal_clears_what_it_showed",
    "guarantee/store/test_store_conformance.py::TestEmbeddedStore::test_history_does_not_show",
    *(
        "guarantee/store/test_postgres_conformance.py",
        "store/test_postgres_store.py",
        "cli/test_postgres_store.py",
    ),
    "attacks/test_extraction.py::test_a_long_run_of_signs_is_read_at_once",
    *(
        "guarantee/algorithms/test_multi.py::test_stream",
        "guarantee/algorithms/test_multi.py::test_a_unit_that_may_take_part_twice",
    ),
    *(
        "guarantee/algorithms/test_multi.py::test_the_broken_twin",
        "guarantee/algorithms/test_ksa.py::test_the_law_of_a_whole_answer",
    ),
    "guarantee/privacy/test_mechanisms.py::test_half_the_noise_is_caught",
    "testing/test_example_plugin.py::test_example_passes_its_own_tests",
    *(f"server/test_{name}.py" for name in "keeper supervisor".split()),
    "guarantee/server/test_keeper_crash.py",
    "guarantee/server/test_concurrency.py",
    "server/front/test_description.py",
    "server/accounts/test_postgres.py",
    "files/test_documents.py::test_each_sheet_with_a_text_is_read_and_others_are_named",
)
"""Tests with these prefixes start a model, a cluster or many processes, or draw very often."""
THOROUGH_FIXTURES = frozenset(("smollm", "server", "url"))
TORCH = (
    *("models/test_voters.py", "models/gpu_backend/", "models/torch_backend/", "numerics/"),
    *(f"guarantee/models/test_{name}.py" for name in "independence probing row_determinism".split()),
    "lab/test_experiments.py::test_help",
    "models/test_vllm_model.py::test_context",
    *("models/test_loading.py::test_pickled", "models/test_loading.py::test_model_without"),
    *("lab/test_speed.py", "operations/test_doctor.py::test_model_is", "cli/test_operations.py::test_doctor_takes"),
    *("store/test_open_embedder.py::test_pair", "store/test_open_embedder.py::test_half"),
)
"""Tests with these prefixes compute with torch, whose import takes ten seconds of one processor."""
LONG = (
    *(f"engines/test_ray_{name}.py" for name in "embedding reading writing".split()),
    "engines/test_ray_cluster.py::test_joining_prints_no_line_of_rays_log",
    "testing/test_qdrant_example.py",
    *("adapters/", "fuzz/", "evaluation/", "baselines/test_projected.py", "bench/test_experiments.py"),
    *("attacks/test_distinguish.py", "attacks/test_suite.py", "docs/test_measuring.py", "test_notebooks.py"),
    *(f"cli/test_{name}.py" for name in "attack audit bench consensus key_share postgres_store public".split()),
    *(f"synthesis/test_{name}.py" for name in "fact_extraction methods runner".split()),
    *("synthesis/dp_synrag/test_steps.py", "synthesis/test_schema_readings.py::test_packaged_model"),
    *("lab/test_keepers.py", "lab/test_serving.py", "server/front/test_description.py"),
    *("cli/test_attack_votes.py", "cli/test_commands.py::test_evaluation_leaves_the_budget_alone"),
    *("models/gpu_backend/", "store/test_embedding.py", "store/test_postgres_store.py"),
    *("operations/test_postgres", "server/accounts/test_postgres.py", "server/test_keeper_database.py"),
    "store/test_documents.py::test_fifty_megabytes",
)
"""Tests with these prefixes take long, and run only if the command line asks for them: pytest -m long (`make nightly`).
No guard is among them (tests/guarantee)."""
WITH_THE_MODEL = "models/test_model.py"
"""The file of tests with the packaged model, beside the guards, that `make test` runs. Others take long."""
MARKS = {"thorough": THOROUGH, "torch": TORCH}
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the file of durations."""
    parser.addoption("--durations-file", type=Path, help="write the seconds of every test into this file")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files and folders whose tests all have a mark that the command line leaves out."""
    name = collection_path.relative_to(TESTS).as_posix() + "/" * collection_path.is_dir()
    asked = config.getoption("markexpr")
    left_out = [prefixes for mark, prefixes in MARKS.items() if f"not {mark}" in asked] + [LONG] * ("long" not in asked)
    return (name.endswith((".py", "/")) and any(map(name.startswith, left_out))) or None


@cache
def _forks(path: Path) -> bool:
    return "fork" in path.read_text(encoding="utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that `make quick` leaves out; leave long ones out unless they are asked for.

    Files that fork come first: a fork copies the tables of all memory that earlier tests took, gigabytes with a model.
    """
    items.sort(key=lambda item: not _forks(item.path))
    slow = read_slow_tests()
    for item in items:
        name = item.nodeid.removeprefix("tests/")
        if name.partition("[")[0] in slow:
            item.add_marker(pytest.mark.thorough)
        fixtures = set(getattr(item, "fixturenames", ()))
        if name.startswith(THOROUGH) or fixtures & THOROUGH_FIXTURES or "postgres" in item.name:
            item.add_marker(pytest.mark.thorough)
        if name.startswith(TORCH) or "MiniLM" in item.name:
            item.add_marker(pytest.mark.torch)
        slow_to_start = "smollm" in fixtures or "postgres" in item.name
        if name.startswith(LONG) or (slow_to_start and not name.startswith(("guarantee/", WITH_THE_MODEL))):
            item.add_marker(pytest.mark.long)
    if "long" not in config.getoption("markexpr"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the seconds of every test, slowest first, if `--durations-file` names a file."""
    if (file := config.getoption("durations_file")) is None:
        return
    seconds: dict[str, float] = defaultdict(float)
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid] += report.duration  # its setup, call and teardown
    file.write_text(
        "".join(f"{total:8.2f} {name}\n" for name, total in sorted(seconds.items(), key=lambda item: -item[1]))
    )


@pytest.fixture(scope="module")
def two_threads() -> Iterator[None]:
    """Run tests with two threads; how rows are divided among threads could change a row."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def signals_heard() -> Iterator[None]:
    """Ctrl-C and a hang-up are heard: a shell starts what is in the background deaf to one, nohup to the other."""
    heard: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in heard.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def smollm() -> "TransformersModel":
    """The packaged language model."""
    from discreet.models.loading import load_model

    return load_model()


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny model with random weights and the packaged model's tokenizer.

    It is for tests of what surrounds a model: it computes an answer in a hundredth of the packaged model's time.
    """
    folder = tmp_path_factory.mktemp("model")
    save_small_model(folder)
    return folder


@pytest.fixture
def write_jsonl(tmp_path: Path) -> Callable[[Sequence[Record], str], Path]:
    """Writes records as JSON lines into the test's folder."""

    def write(records: Sequence[Record], name: str = "notes.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    return write


@pytest.fixture
def packaged_vault(tmp_path: Path) -> "Vault":
    """A vault with the hashing embedder and the packaged model, for tests in which an answer counts."""
    from discreet.vault import Vault

    return Vault.create(tmp_path / "packaged", epsilon=20, delta=1e-5, unit_field="patient", embedder="hashing")


@pytest.fixture
def vault(tmp_path: Path, small_model: Path) -> "Vault":
    """A vault with the hashing embedder and the tiny model, which is loaded at the first question."""
    from discreet.vault import Vault

    return Vault.create(
        tmp_path / "vault", epsilon=20, delta=1e-5, unit_field="patient", embedder="hashing", model=str(small_model)
    )

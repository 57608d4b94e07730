"""The benchmark of the loop on a GPU runs with a tiny shape on the processor, and refuses where there is no GPU."""

import pytest
import torch

from benchmarks import gpu


def test_tiny_shape_runs_and_rows_keep_their_bits(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--shape", "tiny", "--device", "cpu", "--rows", "5", "--own", "24", "--shared", "16"]
    assert gpu.main(given) == 0
    row = capsys.readouterr().out.strip().splitlines()[-1]
    assert row.startswith("| tiny | CPU |")
    assert row.endswith("| yes |")


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_without_a_gpu_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main([]) == 2
    assert "No GPU is here" in capsys.readouterr().err


def test_unknown_shape_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu.main(["--shape", "70B"])
    assert "There is no shape 70B" in capsys.readouterr().err

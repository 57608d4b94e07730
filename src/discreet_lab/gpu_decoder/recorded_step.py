"""A step of decoding on a GPU, recorded once and replayed (a CUDA graph).

A step launches some hundred kernels. A processor needs longer to launch them than a GPU to run them. A recorded step is
launched at once. It runs the same kernels with the same shapes, so it changes no bit.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import torch

Result = tuple[torch.Tensor, torch.Tensor]
"""Logits and the best tokens."""
_recording = Lock()
"""One recording at a time, for it turns the collection of garbage off for the whole process."""


class RecordedStep:
    """A function of one tensor of a constant shape.

    The first call computes, which also compiles and loads kernels. The second call records; each call from then on
    replays. The function must read what changes from tensors that stay in place, and must not wait for the GPU.

    Args:
        compute: the function.
        example: a tensor of the shape, type and device of the argument.
    """

    def __init__(self, compute: Callable[[torch.Tensor], Result], example: torch.Tensor) -> None:
        self._compute, self._argument = compute, torch.empty_like(example)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._result: Result | None = None

    def __call__(self, argument: torch.Tensor) -> Result:
        """Return the result; the next call overwrites it."""
        self._argument.copy_(argument)
        if self._result is None:
            self._result = self._compute(self._argument)
            return self._result
        if self._graph is None:
            self._record()
        assert self._graph is not None
        self._graph.replay()
        return self._result

    def _record(self) -> None:
        stream, graph = recording_stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with _recording, torch.cuda.stream(stream), without_collection():
            # Other threads of the process may use the GPU meanwhile.
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                self._result = self._compute(self._argument)
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = graph


@cache
def recording_stream() -> Any:
    """Return the one stream of all recordings: cuBLAS keeps a workspace for each stream that it sees."""
    return torch.cuda.Stream()  # type: ignore[no-untyped-call]


@contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage meanwhile: an old graph among it would be freed, which ends the recording with an error."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

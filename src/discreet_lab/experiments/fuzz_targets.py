"""The targets of the fuzzer, with `discreet` instrumented: a module that the server of its processes loads once.

atheris rewrites the code of `discreet` when it is imported, which takes some seconds, and is not kept on the disk.
"""

import contextlib
import io

import atheris

# It prints a line about each module.
with contextlib.redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["discreet"]):
    from tests.fuzz.catalogue import TARGETS
    from tests.fuzz.commands import toy_at_hand

__all__ = ["TARGETS", "toy_at_hand"]

"""A file with what a model read, so that another run with other settings, seeds or prices reads nothing twice.

The file holds prompts with whole documents: it is for public data sets alone.
"""

import pickle
from pathlib import Path

from discreet.generation.model import VotingModel
from discreet_lab.evaluation.caching_model import CachingModel


class KeptRows:
    """A caching model, and the file that keeps its rows.

    Args:
        model: the model of the vault.
        path: the file, made if it is not there; None to keep nothing.
    """

    def __init__(self, model: VotingModel, path: Path | None) -> None:
        self.model, self._path = CachingModel(model), path
        if path is not None and path.exists():
            self.model.remember(pickle.loads(path.read_bytes()))

    def keep(self) -> None:
        """Write the file, if there is one. A run that is broken off leaves the former one whole."""
        if self._path is not None:
            half = self._path.with_name(self._path.name + ".new")
            half.write_bytes(pickle.dumps(self.model.tokens))
            half.replace(self._path)

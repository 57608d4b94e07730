"""A vault in this process, and a front with a keeper, as sources of answers."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet.adapters.server_source import ServerSource
from discreet.adapters.source import AnswerSource
from discreet.models.toy import ToyModel
from discreet.vault import Vault
from discreet_server.vault_source import VaultSource
from tests.server.front.serving import Server, serving
from tests.server.keepers import make_vault

Sources = dict[str, AnswerSource]


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a vault of 60 patients."""
    path = tmp_path_factory.mktemp("adapters") / "v"
    make_vault(path)
    return path


@pytest.fixture(scope="package")
def source(folder: Path) -> VaultSource:
    """The vault, in this process, with the toy model."""
    return VaultSource(Vault.open(folder, model=ToyModel(default="yes")))


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of another such vault."""
    with serving(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="package")
def issue(server: Server) -> Callable[..., str]:
    """A function that issues a key."""
    names = iter(f"key {number}" for number in range(1000))
    return lambda **limits: server.key(next(names), **limits)


@pytest.fixture(params=["vault", "server"])
def any_source(request: pytest.FixtureRequest) -> AnswerSource:
    """Each source in turn."""
    if request.param == "vault":
        found: VaultSource = request.getfixturevalue("source")
        return found
    server = request.getfixturevalue("server")
    return ServerSource(server.root, request.getfixturevalue("issue")())

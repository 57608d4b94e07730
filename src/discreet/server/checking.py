"""What is looked at before a server starts: the settings of its vaults and its presets. No document is read."""

from pathlib import Path

from discreet.config import read_config
from discreet.errors import UsageError
from discreet.planning.prices import vault_budget
from discreet.server.config import ServeConfig
from discreet.server.keeper.presets import Presets


def check_served(config: ServeConfig) -> None:
    """Refuse vaults that are not there, and presets that cannot be asked.

    Raises:
        DiscreetError: if there is one; it says which.
    """
    names = {vault.name for vault in config.vaults}
    for preset in config.presets:
        strange = set(preset.vaults) - names
        if strange:
            raise UsageError(
                f"The preset '{preset.name}' is for '{min(strange)}', which is not served. Mend serve.toml."
            )
    for vault in config.vaults:
        settings = read_config(Path(vault.path))
        own = tuple(preset for preset in config.presets if not preset.vaults or vault.name in preset.vaults)
        grant = vault_budget(settings.epsilon, settings.delta)
        Presets(settings, Path(vault.path), grant, configured=own, only=config.models)
    for file in (config.tls_cert, config.tls_key):
        if file and not Path(file).is_file():
            raise UsageError(f"There is no file {file}. Name the certificate and its key: --tls-cert, --tls-key")

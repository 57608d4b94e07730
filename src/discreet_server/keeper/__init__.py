"""The keeper: the one process that opens vaults. It has no network."""

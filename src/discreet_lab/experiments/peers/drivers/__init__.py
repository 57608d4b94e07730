"""Programs that run in the environment of a peer. They import the peer and this folder, and nothing of `discreet`."""

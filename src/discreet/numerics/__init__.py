"""The compute dtype of torch models, and the determinism of their rows."""

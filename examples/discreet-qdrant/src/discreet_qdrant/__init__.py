"""The store with its vectors in Qdrant, searched exactly, and its texts in the vault's folder."""

"""An algorithm, a store, an embedder and a loader for discreet."""

"""An algorithm and a store for discreet."""

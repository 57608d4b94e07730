"""The commands of the laboratory, which `discreet` finds by entry points."""

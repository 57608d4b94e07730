"""Files, threads, progress and text encoding, for all packages."""

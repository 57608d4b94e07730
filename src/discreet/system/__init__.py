"""Files, threads, progress and text encoding: what any room may use."""

"""Other people's systems beside ours: same questions, model and machine, one run (`python -m benchmarks.peers`)."""

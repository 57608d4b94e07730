"""Other people's systems beside ours: same questions, same model, same machine, one run."""

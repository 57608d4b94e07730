"""What a question asks: its kind, its parts as a request, and the decision about it. Public values alone are read."""

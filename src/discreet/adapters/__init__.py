"""Adapters for other tools: one file a tool. An adapter passes answers and receipts on, and never a document."""

"""Llama models on a GPU: few kernels, and a step that is recorded once (a CUDA graph)."""

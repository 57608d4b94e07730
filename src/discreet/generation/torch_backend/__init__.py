"""Language models of the transformers library on one machine."""

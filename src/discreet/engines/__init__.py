"""What computes in bulk on more than one machine."""

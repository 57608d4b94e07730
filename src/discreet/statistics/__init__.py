"""Statistics about the units of a vault: counts, shares, comparisons, trends, typical numbers and lists."""

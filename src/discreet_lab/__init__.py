"""The laboratory: what measures `discreet`, and what it is compared with. The product does not know it.

Attacks, audits with broken twins, the tables of the papers, evaluation, baselines without a guarantee, published
claims that are no guarantees, and a faster decoder for GPUs. Its commands and algorithms come to `discreet` through
entry points, as those of a plug-in do.
"""

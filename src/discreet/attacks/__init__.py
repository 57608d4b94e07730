"""Attacks: what somebody can find out, measured. For simulations and the custodian; no vault pays for them."""

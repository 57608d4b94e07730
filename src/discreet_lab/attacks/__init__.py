"""Attacks: measurements of what an attacker can learn. For simulations and the custodian; no unit pays for them."""

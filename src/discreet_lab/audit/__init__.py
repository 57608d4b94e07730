"""Audits: lower bounds of the privacy loss from draws on neighbouring inputs, beside it the claim."""

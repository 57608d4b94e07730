"""Audits: what many draws on neighbouring inputs show about a privacy loss, beside what is claimed (docs/audit.md)."""

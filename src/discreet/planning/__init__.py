"""Plans of grants: which questions a grant pays for, and checks before a vault is made."""

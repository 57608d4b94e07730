"""What a grant pays for, before it is given."""

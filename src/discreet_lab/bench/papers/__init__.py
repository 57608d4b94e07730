"""The tables of the papers as data, one paper a file."""

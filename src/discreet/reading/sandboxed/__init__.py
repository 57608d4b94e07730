"""Readers of files of office programs, from bytes to text, for a separate process. They open no file."""

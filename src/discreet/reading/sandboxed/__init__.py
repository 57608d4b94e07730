"""What reads files of office programs, in a process of its own: bytes to text. Nothing here opens a file."""

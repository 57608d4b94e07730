"""The private algorithms, one file each, laid out as the pseudo-code of their papers."""

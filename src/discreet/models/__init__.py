"""From prompts to tokens."""

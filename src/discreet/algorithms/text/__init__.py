"""What is done with the texts of answers."""

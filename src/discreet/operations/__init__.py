"""What a custodian does with a vault as a whole: look after it, copy it, report on it."""

"""A language model as a process: several askers on one machine share one model."""

"""Random variations of every input: an answer or one clear error, within bounds."""

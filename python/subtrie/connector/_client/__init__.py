"""Asking others: one answer, many answers, who is heard and how long is waited."""

"""Serving others: endpoints, their arguments, how a request is handled and answered."""

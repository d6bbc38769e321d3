"""The request client: pending requests, response streams and acknowledgement timers."""

"""A page, a service, and the way from HTTP to it."""

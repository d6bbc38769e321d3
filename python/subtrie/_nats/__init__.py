"""What NATS itself defines, in one place: limits, claims, keys and files of credentials."""

"""A small shop of six Microbus services: ``python -m examples.shop`` runs and audits it."""

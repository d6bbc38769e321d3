"""The control plane: configuration, metrics, OpenAPI, distributed cache."""

"""The request server: endpoints, argument binding, middleware, handlers, responses."""

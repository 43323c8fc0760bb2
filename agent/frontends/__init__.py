"""Frontends: what hears units and answers with steps; scripted, in a worker, or behind gRPC."""

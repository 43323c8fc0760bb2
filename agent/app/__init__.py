"""Command line and wiring: the only place that knows every part."""

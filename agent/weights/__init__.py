"""Weights of the built-in models: which files, where they lie, how they get there. Data only: no model is loaded here."""

"""Typed extractors: what can be read off a sentence without a model. One of each for the whole project."""

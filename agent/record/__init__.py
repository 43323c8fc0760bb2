"""The record of a call: its folder, its audio, its report; written outside the media process."""

"""The mind of the embedded cascade: what to do about a turn of the caller, and the words of it."""

"""Text in, speech out, clause by clause: the mouth of the embedded cascade."""

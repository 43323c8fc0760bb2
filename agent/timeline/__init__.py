"""The only truth about a call: an append-only, totally ordered list of events, and its JSON Lines form."""

"""Who has the floor: pure state machines from evidence to verdicts."""

"""Delegated work: what `agent.harness.Harness` asks for is done here, outside the media loop."""

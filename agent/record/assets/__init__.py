"""The files that make up `report.html`, inlined by `agent.record.report`."""

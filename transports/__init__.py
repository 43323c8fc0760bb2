"""How a call arrives: each transport implements `agent.line.Line`, thin around a core without I/O."""

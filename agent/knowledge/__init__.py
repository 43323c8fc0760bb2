"""What a business wrote down, searched by meaning and by words; it knows when it does not know."""

from agent.knowledge.dialogue import Dialogue
from agent.knowledge.documents import check
from agent.knowledge.knowledge import Found, Knowledge, ScoredPassage
from agent.knowledge.minilm import MiniLM
from agent.knowledge.passages import Finding, Passage, Severity

__all__ = ["Dialogue", "Finding", "Found", "Knowledge", "MiniLM", "Passage", "ScoredPassage", "Severity", "check"]

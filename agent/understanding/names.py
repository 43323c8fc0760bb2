"""The name by which callers introduce themselves."""

import re

_INTRODUCTION = re.compile(
    r"\b(?:my (?:full |first )?name is|my name's|the name is|the name's|this is|i am called|i'm called|call me)\s+"
    r"((?-i:[A-Z])[a-z'’-]+(?:\s+(?-i:[A-Z])[a-z'’-]+){0,2})",
    re.IGNORECASE,
)
_NO_NAMES = frozenset(
    ["The", "A", "An", "About", "Not", "For", "My", "Your", "Regarding", "What", "That", "It", "Just", "Urgent"]
)


def caller_name(text: str) -> str | None:
    """The name in "my name is Anna Miller", as it was recognised; None where nobody introduces themselves."""
    found = _INTRODUCTION.search(text)
    if found is None or found[1].split()[0] in _NO_NAMES:
        return None
    return found[1]

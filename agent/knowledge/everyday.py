"""Questions that every business is asked in words that hardly say what they are about: "Where are you?" """

import re

_ADDRESS, _PARKING = "What is your address?", "Do you have parking?"
_EVERYDAY = (
    (r"(?:and )?where (?:are you|do i find you|can i find you|are you guys)(?: located| based| at)?", _ADDRESS),
    (r"where (?:is|are) your (?:office|shop|store|place|premises|practice|business)(?: located)?", _ADDRESS),
    (r"how do i (?:get to you|find you|get there)", "What is your address and how do I find it?"),
    (r"(?:and )?where (?:can|do|should|could) (?:i|we|people|customers) park(?: (?:my|the) car)?", _PARKING),
    (r"(?:and )?where is (?:the|your) parking(?: lot| garage)?", _PARKING),
)
_PATTERNS = tuple((re.compile(pattern), plain) for pattern, plain in _EVERYDAY)


def plainly(question: str) -> str:
    """The same question in the words that documents use; the question itself where it is none of these."""
    said = " ".join(re.sub(r"[^\w'\s]", " ", question.lower()).split())
    return next((plain for pattern, plain in _PATTERNS if pattern.fullmatch(said)), question)

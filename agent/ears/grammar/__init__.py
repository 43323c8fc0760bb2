"""Whether the words so far make a sentence that could end here: a reader of English clauses, word by word, without a model.

It keeps what each clause still needs: a noun behind "the", an object behind "for" or "need", a verb behind a subject, a main
clause behind "if ...". It knows general English and nothing of any trade, and takes speech as recognisers write it.
"""

from agent.ears.grammar.reader import Outcome, read
from agent.ears.grammar.sentence import Need
from agent.ears.grammar.tagged import Tagged, sentences

__all__ = ["Need", "Outcome", "Tagged", "read", "sentences"]

"""Words that begin clauses: question words and conjunctions."""

from agent.ears.grammar import lexicon as lex
from agent.ears.grammar.sentence import FINITE_TAGS, Clause, Need, Role, Sentence

_ELLIPSES = ("about", "then", "not", "else", "come", "if")
_MEASURES = ("much", "many", "long", "far", "more", "often")


def take_question_word(it: Sentence, word: str) -> None:
    """A question, what "do you know" leads to, a relative clause, or a clause of time or place."""
    clause = _opened(it, word)
    clause.need, clause.question = Need.PHRASE, word
    measures = word == "how" and it.word(1) in _MEASURES
    clause.gap = word in lex.ARGUMENT_QUESTIONS or word == "where" or clause.role is Role.RELATIVE or measures
    if clause.role is Role.MAIN and it.word(1) in _ELLIPSES and it.word(2 if it.word(1) != "about" else 99) == "":
        clause.need = Need.NOTHING  # "what about", "why not"
        clause.asks = clause.finite = clause.subject = True
        clause.gap = False


def _opened(it: Sentence, word: str) -> Clause:
    top, main = it.top, it.main
    if top.need is Need.OBJECT and not main.finite and not main.subject:
        return it.begin_main()  # "until when", "for how long"
    if top.need in (Need.LEAD, Need.ARGUMENT, Need.OBJECT, Need.COMPLEMENT) or leads(it):
        it.asked = True
        return it.open(Role.EMBEDDED)
    if it.after_noun and word in lex.RELATIVES:
        return it.open(Role.RELATIVE)
    if word in ("when", "where") and (top.full or main.question or it.at == 0):
        it.led_up = it.led_up or not main.finite
        return it.open(Role.SUBORDINATE)
    if main.asks and it.word(-1) != ",":
        return it.open(Role.EMBEDDED)  # unless an auxiliary and a subject follow: then it is the main clause
    return it.begin_main()


def leads(it: Sentence) -> bool:
    """Whether a question may follow what stands before: "do you know", "find out", "no idea"."""
    before = it.word(-1)
    return it.at > 0 and (lex.lemma(before) in lex.LEAD_VERBS or before in lex.BEFORE_QUESTIONS)


def begins_clause(it: Sentence, word: str) -> bool:
    """Whether a conjunction begins a clause here: some are prepositions, adverbs or pronouns as well."""
    if word == "that":
        return _that_begins_clause(it)
    if word == "so":
        return False
    if word == "as":
        return it.at == 0 or it.word(-1) in ("soon", "long", "far")
    if word in lex.CLAUSE_OR_NOUN:
        return it.tag(1) in ("PRP", "EX") or (word != "than" and _verb_ahead(it))
    if word == "once":
        return it.tag(1) in ("PRP", "DT", "PRP$", "NNP", "EX")
    return word in lex.CONJUNCTIONS and it.word(1) != "of"


def _that_begins_clause(it: Sentence) -> bool:
    following, tag, before, top = it.word(1), it.tag(1), it.word(-1), it.top
    if (top.need is Need.SUBJECT and top.asks) or it.at == 0 or it.is_auxiliary(1):
        return False
    if it.last:
        told = before in lex.OBJECTS and lex.lemma(it.word(-2)) == "tell"
        return told or before in lex.BEFORE_THAT or (top.need is Need.LEAD and it.tag(-1) != "PRP")
    subject = tag.startswith(("PRP", "DT", "EX", "NNP", "NNS")) or following in lex.PRONOUNS
    return subject or (tag.startswith(("N", "J")) and _verb_ahead(it))


def _verb_ahead(it: Sentence) -> bool:
    """Whether a subject and a finite verb come within the next words, before anything that begins another clause."""
    for ahead in range(1, 7):
        word = it.word(ahead)
        if not word or word in lex.QUESTIONS or word in lex.FILLERS or word == ",":
            return False
        if ahead > 1 and (it.tag(ahead) in FINITE_TAGS or word in lex.BE):
            return it.word(ahead + 1) not in lex.PRONOUNS
    return False


def take_conjunction(it: Sentence, word: str) -> None:
    """A clause inside the sentence, or one that leads up to its main clause."""
    if word == "that":
        if it.top.need is Need.SUBJECT and not it.top.asks:
            return  # "I think that": the clause is open
        it.open(Role.RELATIVE if it.after_noun and it.tag() == "WDT" else Role.EMBEDDED, Need.SUBJECT)
        return
    asked = it.top.need in (Need.LEAD, Need.ARGUMENT) or leads(it)
    it.asked = it.asked or (word in ("if", "whether") and asked)
    it.led_up = it.led_up or not it.main.finite
    it.open(Role.SUBORDINATE, Need.SUBJECT)

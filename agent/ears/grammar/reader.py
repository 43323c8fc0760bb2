"""Reads a sentence, word by word, and says how it stands at its end."""

from dataclasses import dataclass

from agent.ears.grammar import lexicon as lex
from agent.ears.grammar.nouns import take_adjective, take_adverb, take_determiner, take_noun, take_preposition, take_pronoun
from agent.ears.grammar.openers import begins_clause, take_conjunction, take_question_word
from agent.ears.grammar.sentence import Need, Role, Sentence
from agent.ears.grammar.tagged import Tagged
from agent.ears.grammar.verbs import is_verb, take_auxiliary, take_to, take_verb

_DETERMINER_TAGS = ("DT", "PDT", "PRP$", "WP$")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a sentence stands. `need`: of its last clause. `verb`: there is a main clause with a verb; `asks`: it asks.

    `unclear`: the last word may be all that was missing ("who is it for"), or not. `lenient`: what is needed could be left out
    ("can I call"). `led_up`: there are only clauses that lead up to a main one ("if ...").
    """

    need: Need = Need.NOTHING
    verb: bool = False
    asks: bool = False
    unclear: bool = False
    lenient: bool = False
    led_up: bool = False


def read(words: list[Tagged]) -> Outcome:
    """How the sentence stands after `words`."""
    it = Sentence(list(words))
    for it.at in range(len(words)):
        _take(it)
    return _outcome(it)


def _outcome(it: Sentence) -> Outcome:
    need = it.top.need
    if it.more or (it.words and it.words[-1].word in lex.FILLERS):
        need = Need.MORE
    elif it.determined:
        need = Need.NOUN
    elif need is Need.NOTHING and _waits_for_verb(it):
        need = Need.VERB
    how_long = bool(it.main.question) and it.led_up  # "how long until it's ready"
    verb, asks = it.main.finite or how_long, it.main.asks or it.asked or how_long
    return Outcome(need, verb, asks, it.unclear, it.lenient, it.led_up and not verb)


def _waits_for_verb(it: Sentence) -> bool:
    """A clause has none, or the main clause is no more than a noun and what is said of it: "the guy who came"."""
    inner = it.clauses[1:]
    told_of = not it.main.finite and any(clause.role is Role.RELATIVE for clause in inner)
    return told_of or any(not clause.finite for clause in inner)


def _take(it: Sentence) -> None:
    word, tag = it.word(), it.tag()
    if word in lex.SKIPPED or not (word[-1].isalnum() or word in ("'s", "'d")):
        return
    it.unclear = False
    more, it.more = it.more, False
    if word in lex.COORDINATORS and tag != "RB":
        it.more = True
    elif word in lex.QUESTIONS and tag != "DT":
        take_question_word(it, word)
        it.more = it.last and it.top.need is Need.NOTHING
    elif begins_clause(it, word):
        take_conjunction(it, word)
    elif it.is_auxiliary():
        take_auxiliary(it, word)
    elif word in lex.NEGATIONS:
        it.unclear = it.last and it.top.subject and not it.top.question  # "but I can't"
    elif word == "to":
        take_to(it)
    else:
        _take_member(it, word, tag, more)


def _take_member(it: Sentence, word: str, tag: str, more: bool) -> None:
    """A word inside a clause, by its part of speech."""
    existential = word == "there" and (it.is_auxiliary(1) or it.top.need is Need.SUBJECT)
    if word == "there" and not existential:
        take_adverb(it, word)
    elif word in lex.PRONOUNS or tag in ("PRP", "EX"):
        take_pronoun(it, word, more)
    elif tag in _DETERMINER_TAGS or word in lex.DETERMINERS or word == "that":
        take_determiner(it, word)
    elif tag.startswith("VB"):
        take_verb(it, word, tag)
    elif is_verb(it, word, tag):
        it.words[it.at] = Tagged(word, "VB")
        take_verb(it, word, "VB")
    elif word in lex.PREPOSITIONS or tag in ("IN", "RP"):
        take_preposition(it, word, tag)
    elif tag.startswith("JJ") or word in lex.ADJECTIVES:
        take_adjective(it, word)
    elif tag.startswith("RB"):
        take_adverb(it, word)
    elif tag == "POS":
        it.determined, it.unclear = not (it.last and it.word(-1) == "year"), True
    elif tag not in ("UH", "HYPH"):
        take_noun(it)

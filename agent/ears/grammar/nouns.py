"""Noun phrases, and the words that belong to them or follow a verb as they do."""

from agent.ears.grammar import lexicon as lex
from agent.ears.grammar.sentence import FINITE_TAGS, Need, Role, Sentence


def take_determiner(it: Sentence, word: str) -> None:
    """An article or possessive, or "this" and "that" alone."""
    if _stands_alone(it, word):
        it.unclear = it.last and word == "that" and not it.top.asks
        take_noun(it)
    elif word == "another" and it.last:
        it.unclear = True
        take_noun(it)
    else:
        it.determined = True


def _stands_alone(it: Sentence, word: str) -> bool:
    following = it.tag(1)
    if word in lex.DEMONSTRATIVES and not following.startswith(("N", "J", "CD", "RBS", "VBG", "VBN")):
        return True
    if word not in ("this", "that"):
        return False
    last_but_one = it.word(2) == ""
    if (
        it.top.need is Need.SUBJECT
        and it.top.asks
        and (it.word(1) in lex.ADJECTIVES or (last_but_one and it.word(1) in lex.VERBS))
    ):
        return True  # "is that right", "what does that cost"
    return following.startswith("J") and last_but_one  # "this late"


def take_pronoun(it: Sentence, word: str, more: bool) -> None:
    """A pronoun as a subject or an object. `more`: it stands behind "and"."""
    top = it.top
    subject_like = word in lex.NOMINATIVE or word in ("you", "it", "there")
    if more and it.main.finite and subject_like:
        it.open_with_subject(Role.SUBORDINATE)
    elif top.need is Need.LEAD and word in lex.OBJECTS:
        _follow_lead(it, word)
    elif not subject_like or _wants_noun(it, word):
        take_noun(it)
    elif more and top.waits:
        top.need = Need.VERB  # "my husband and I"
    else:
        _begin_with_subject(it)
    it.noun, it.determined = it.at, False


def _wants_noun(it: Sentence, word: str) -> bool:
    top = it.top
    if top.need in (Need.SUBJECT, Need.PHRASE) or (it.only_main and not top.subject and not top.finite):
        return True
    objective = word not in lex.NOMINATIVE
    return objective and (top.need not in (Need.NOTHING, Need.VERB) or it.tag(-1).startswith("V"))


def _follow_lead(it: Sentence, word: str) -> None:
    """ "tell you" goes on as before; "give it" needs nothing else; in "I know it is" a clause begins."""
    if word in ("you", "it") and it.tag(1) in FINITE_TAGS:
        it.open_with_subject(Role.EMBEDDED)
    elif word in ("it", "you", "them") and lex.lemma(it.word(-1)) in lex.GIVING_VERBS:
        it.top.need = Need.NOTHING


def _begin_with_subject(it: Sentence) -> None:
    """A subject where none was wanted: a relative clause ("the one I"), what was said ("he said I"), or a new sentence."""
    main = it.main
    if not it.only_main and it.top.full and not main.subject and not main.finite and not main.question:
        it.clauses = [main]
        main.subject, main.need = True, Need.VERB
    elif main.waits and it.only_main and it.word(-1) in lex.TIMES and it.words[0].word != "the":
        main.need = Need.VERB  # "this morning I"
    else:
        it.open_with_subject(Role.RELATIVE if it.after_noun else Role.EMBEDDED)


def take_noun(it: Sentence) -> None:
    """The head of a noun phrase."""
    top, again = it.top, it.after_noun and it.at > 0 and not it.determined
    determined, it.determined = it.determined, False
    it.noun = it.at
    if top.need is Need.PHRASE:
        if not _belongs_to_question_word(it, determined):
            top.subject, top.need = True, Need.VERB
    elif top.need is Need.SUBJECT:
        top.subject, top.need = True, (top.then if top.asks else Need.VERB)
    elif again and top.asks and top.need in (Need.COMPLEMENT, Need.VERB):
        return  # the same noun phrase goes on: "is Doctor Whitaker"
    elif top.need in (Need.OBJECT, Need.COMPLEMENT, Need.ARGUMENT, Need.LEAD):
        top.need = Need.NOTHING
    elif not top.subject and not top.finite:
        top.subject = True


def _belongs_to_question_word(it: Sentence, determined: bool) -> bool:
    """ "what time", "which of the rooms", "how many people", "what kind of payment"."""
    top, word = it.top, it.word()
    if any(it.word(-back) in ("of", "to") for back in (1, 2, 3)):
        return True
    many = top.question == "how" and it.word(-1) in ("many", "much", "more", "else")
    asks_for = top.question in ("what", "which", "whose") or many
    belongs = asks_for and not determined and (word not in lex.PRONOUNS or word in ("one", "ones"))
    top.gap = top.gap or belongs
    return belongs


def take_preposition(it: Sentence, word: str, tag: str) -> None:
    """A preposition, or a particle of the verb before it."""
    top = it.top
    if top.need is Need.PHRASE and word == "of":
        return
    after_verb = (it.tag(-1).startswith("VB") and it.word(-1) not in lex.BE) or it.word(-1) in ("it", "them", "back")
    if word in lex.PARTICLES and (tag == "RP" or (after_verb and not it.last)) and top.need is not Need.COMPLEMENT:
        if top.need is Need.LEAD or word == "up":
            top.need = Need.NOTHING
        return
    gap = any(clause.gap for clause in it.clauses)
    if it.last and gap and top.asks and top.identifies and top.then is Need.NOTHING and it.word(-1) in lex.SUBJECT_PRONOUNS:
        return  # "who is it for"
    place = word in lex.PLACES and top.asks and top.then is Need.COMPLEMENT
    particle = after_verb and word in lex.PARTICLES
    behind_state = it.tag(-1) in ("VBN", "VBD") or (it.tag(-1) in ("JJ", "RB") and word in lex.PARTICLES)  # "last in"
    it.unclear = it.last and (gap or place or particle or behind_state)
    if top.waits or top.need in (Need.PHRASE, Need.SUBJECT):
        it.more = it.last and not it.unclear
    elif top.need is not Need.VERB or top.asks:
        top.need = Need.OBJECT


def take_adjective(it: Sentence, word: str) -> None:
    """An adjective before its noun, behind "be", or the last word that must do for a noun."""
    top = it.top
    if it.determined:
        if it.last and word not in lex.ADJECTIVES:
            it.unclear = True
            take_noun(it)
        return
    alone = it.tag(1) not in ("NN", "NNS", "NNP") and (top.need is not Need.OBJECT or it.last)
    if alone and top.need in (Need.COMPLEMENT, Need.ARGUMENT, Need.OBJECT):
        negated = it.word(-1) in lex.NEGATIONS
        top.need = Need.ARGUMENT if word in lex.INFINITIVE_WORDS and not negated else Need.NOTHING


def take_adverb(it: Sentence, word: str) -> None:
    """An adverb that leans on the next word, satisfies "be", or changes nothing."""
    top = it.top
    if word in lex.DEGREES:
        opens = word == "so" and (not it.tag(-1).startswith("V") or it.word(-1) in lex.AUXILIARIES)
        it.more = it.last and (opens or word not in lex.LAST_DEGREES)
        if it.last and word in ("more", "less", "so"):
            top.need = Need.NOTHING
        return
    satisfies = top.need in (Need.COMPLEMENT, Need.ARGUMENT, Need.OBJECT) and word in lex.PLACES
    if satisfies or (top.need in (Need.COMPLEMENT, Need.OBJECT) and it.last and word not in lex.WAITING_ADVERBS):
        top.need = Need.NOTHING

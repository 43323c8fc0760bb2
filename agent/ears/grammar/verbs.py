"""Verbs: what makes a clause finite, turns it into a question, and what comes behind."""

from agent.ears.grammar import lexicon as lex
from agent.ears.grammar.nouns import take_noun
from agent.ears.grammar.sentence import FINITE_TAGS, Need, Role, Sentence

_SUBJECT_TAGS = ("PRP", "EX", "DT", "PRP$", "NNP", "PDT")


def is_verb(it: Sentence, word: str, tag: str) -> bool:
    """Whether what was tagged as something else is the verb that is waited for: "does the museum close"."""
    top = it.top
    if it.determined or not tag.startswith(("NN", "JJ", "RB")):
        return False
    if top.need is Need.PHRASE and top.question == "who":
        return tag in ("NN", "NNS")
    if it.at == 0 and (
        (tag in ("NN", "NNP") and it.tag(1) in ("PRP", "PRP$", "DT")) or (word in lex.VERBS and it.tag(1) == "CD")
    ):
        return True
    waited_for = top.need is Need.VERB and (top.asks or top.question != "" or it.word(-1) == "to")
    return waited_for and (lex.lemma(word) in lex.VERBS or (tag[0] != "R" and it.tag(-1) == "PRP"))


def take_auxiliary(it: Sentence, word: str) -> None:
    """A form of "be", "have" or "do", or a modal."""
    top, main = it.top, it.main
    if word in ("be", "been", "being", "do", "have") and top.need in (Need.VERB, Need.COMPLEMENT):
        take_verb(it, word, "VB")
        return
    it.more = it.last and word in lex.LEANING
    if it.only_main and main.question and main.finite and not main.asks and main.need is not Need.PHRASE:
        it.begin_main().subject = True  # "what I need to know is"
    be = word in lex.BE or word == "'s"
    inverts = _inverts(it, be)
    asks_have = inverts and it.at == 0 and it.tag(1) in ("PRP", "PRP$", "NNP", "NNS", "EX")
    if word in lex.HAVE and not asks_have and not _participle_follows(it, 7 if inverts else 4):
        take_verb(it, word, "VBP")
    elif inverts:
        _ask(it, Need.COMPLEMENT if be else Need.VERB)
    else:
        _state(it, Need.COMPLEMENT if be else Need.VERB)


def _subject_follows(it: Sentence) -> bool:
    ahead = 2 if it.word(1) in lex.NEGATIONS else 1
    word = it.word(ahead)
    behind_comma = it.word(-1) == "," and it.top.full
    return behind_comma or it.tag(ahead) in _SUBJECT_TAGS or word in lex.PRONOUNS | lex.DEMONSTRATIVES


def _participle_follows(it: Sentence, within: int) -> bool:
    for ahead in range(1, within):
        if it.tag(ahead) in ("VBN", "VBD") or it.word(ahead) in ("been", "to", "better"):
            return True
        if within < 5 and not it.tag(ahead).startswith("RB") and it.word(ahead) not in lex.NEGATIONS:
            return False
    return False


def _inverts(it: Sentence, be: bool) -> bool:
    """Whether an auxiliary stands before its subject, as in a question."""
    top, main, subject_follows = it.top, it.main, _subject_follows(it)
    if top.need is Need.PHRASE and not top.subject:
        if top.role is Role.MAIN:
            predicate = it.tag(1).startswith(("VB", "RB")) or (it.tag(1).startswith("JJ") and it.tag(2)[:1] != "N")
            return subject_follows or not predicate
        if it.word(-1) in ("when", "where", "why", "how"):
            return True
        return subject_follows and (top.role is not Role.RELATIVE or (not be and it.tag(1) == "PRP"))
    if top.waits or top.need is Need.SUBJECT:
        return subject_follows and not be and it.tag(1) in ("PRP", "EX")
    if it.only_main and not main.finite and not main.subject:
        return True
    return subject_follows and not any(clause.waits for clause in it.clauses)


def _ask(it: Sentence, then: Need) -> None:
    top = it.top
    if top.need is not Need.PHRASE:
        top = it.begin_main()
    elif top.role is not Role.MAIN:
        it.clauses = [top]
        top.role = Role.MAIN
    top.asks = top.finite = True
    top.need = Need.SUBJECT
    top.then = Need.NOTHING if top.identifies and then is Need.COMPLEMENT else then


def _state(it: Sentence, need: Need) -> None:
    """An auxiliary with its subject before it."""
    if it.top.finite:
        it.resume()
    top = it.top
    if need is Need.COMPLEMENT and top.need is not Need.PHRASE and any(clause.identifies for clause in it.clauses):
        need = Need.NOTHING
    top.asks = top.asks or (top.role is Role.MAIN and top.need is Need.PHRASE)
    top.subject = top.finite = True
    top.need = need


def take_verb(it: Sentence, word: str, tag: str) -> None:
    """Any other verb: finite, an infinitive, a participle, or one that stands for a noun."""
    top = it.top
    if it.determined or (tag == "VBG" and top.need in (Need.SUBJECT, Need.OBJECT, Need.ARGUMENT)):
        gerund = tag == "VBG" and not it.determined and top.need is not Need.SUBJECT
        take_noun(it)  # "a cleaning", "the used", "about paying"
        if gerund:
            top.need = _wanted(it, word, passive=False)
        return
    if top.need is Need.OBJECT and tag == "VBN":
        top.need = Need.NOTHING  # "as dialed"
        return
    if top.asks and top.need is Need.COMPLEMENT and tag in ("VBZ", "VBP"):
        return  # no predicate of "is": a noun
    if tag == "VBG" and it.after_noun and it.last and top.need is Need.NOTHING:
        top.need = _wanted(it, word, passive=False)  # "a message saying"
        return
    passive = tag in ("VBN", "VBD") and top.need is Need.COMPLEMENT
    if top.finite and top.need not in (Need.VERB, Need.COMPLEMENT, Need.SUBJECT):
        if not _resumes(it, word, tag):
            if tag in ("VB", "VBP", "VBG") and (top.need is Need.ARGUMENT or it.word(-1) in lex.OBJECTS):
                top.need = _wanted(it, word, passive=False)  # "help me find"
            return
        it.resume()
        top = it.top
    top.asks = top.asks or (top.role is Role.MAIN and top.need is Need.PHRASE)
    top.subject = top.finite = True
    top.need = _wanted(it, word, passive)


def _resumes(it: Sentence, word: str, tag: str) -> bool:
    """Whether a second finite verb goes with the noun before it: "the last time I called nobody answered"."""
    waits = any(clause.waits for clause in it.clauses)
    return it.after_noun and (waits or (tag in FINITE_TAGS and not word.endswith("ed")))


def _wanted(it: Sentence, word: str, passive: bool) -> Need:
    """What comes behind the verb."""
    it.lenient = False
    name, top = lex.lemma(word), it.top
    if passive:
        return Need.LEAD if name in lex.PASSIVE_LEADS else Need.NOTHING
    if word in ("be", "been", "being"):
        return Need.NOTHING if top.identifies else Need.COMPLEMENT
    if name in lex.LEAD_VERBS:
        negated = any(it.word(-back) in lex.NEGATIONS for back in (1, 2))
        return Need.NOTHING if (negated and name in ("know", "remember")) or top.gap else Need.LEAD
    if name in lex.CLAUSE_VERBS:
        it.open(Role.EMBEDDED, Need.SUBJECT)
        return Need.NOTHING
    if name not in lex.OBJECT_VERBS and word not in lex.INFINITIVE_WORDS and name not in lex.INFINITIVE_WORDS:
        return Need.NOTHING
    if top.gap:
        top.gap = False
        return Need.NOTHING
    it.lenient = name in lex.LENIENT_VERBS
    return Need.ARGUMENT


def take_to(it: Sentence) -> None:
    """ "to" before an infinitive, or before a noun."""
    top = it.top
    it.unclear = it.last and any(clause.gap for clause in it.clauses) and it.tag(-1).startswith("V")
    following = it.word(1)
    infinitive = it.tag(1) in ("VB", "VBP", "") or following in ("be", "have", "do") or following in lex.VERBS
    if not infinitive:
        top.need = top.need if top.need is Need.PHRASE else Need.OBJECT
    elif top.need is not Need.SUBJECT:
        top.need = Need.VERB

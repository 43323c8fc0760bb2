"""The closed classes of English words that the grammar goes by, and what verbs ask for. Words in small letters."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FILLERS = _words("uh um uhm erm er hmm hm mm ah eh em")
SKIPPED = FILLERS | _words("please")
"""Words without a place in the sentence."""
NOMINATIVE = _words("i we he she they")
"""Pronouns that can be nothing but a subject."""
SUBJECT_PRONOUNS = NOMINATIVE | _words("you it")
OBJECTS = _words("me us him her them you it")
PRONOUNS = (
    NOMINATIVE
    | OBJECTS
    | _words(
        "there mine yours someone somebody anyone anybody everyone everybody nobody something anything nothing"
        " everything one ones none myself yourself itself"
    )
)
DEMONSTRATIVES = _words("this that these those all both enough half")
"""Determiners that may stand alone."""
DETERMINERS = _words("a an the no every my your our their its")
ADJECTIVES = _words(
    "large small big little long short new old young next last first other same best better nearest closest"
    " wrong right okay ok main only whole own good bad free full high low easy hard regular extra special"
    " different early late blue red green black white cheap cheapest nice great fine sure ready true local"
    " current previous following entire particular specific certain possible"
)
"""Adjectives whatever the tagger says; at the end of a noun phrase they wait for the noun."""
DEGREES = _words("very really so too quite pretty just only even as more most less almost such rather")
"""Adverbs that lean on the word behind them."""
LAST_DEGREES = _words("only less more most so too really")
"""Those of them that may come last."""
WAITING_ADVERBS = _words("still always usually currently normally also probably actually maybe ever never")
PLACES = _words(
    "there here in on out back home available today tomorrow tonight now off up away over open closed upstairs"
    " downstairs inside outside soon later early late yet already again online around long forever well right"
)
"""What a form of "be" may end with."""
PARTICLES = _words("up out off in on over back down away through around along by")
PREPOSITIONS = _words(
    "of to from with without at in on about into onto by for under over between among through during against"
    " within near behind beside besides per regarding concerning towards toward across beyond except despite"
    " like off around via including upon"
)

TIMES = _words(
    "morning afternoon evening night day week month year today yesterday tomorrow tonight ago monday tuesday"
    " wednesday thursday friday saturday sunday weekend now time"
)
"""Nouns and adverbs that tell when, in front of the subject."""

LEANING = _words("'re 'm 'll 've 'd")
"""Short forms that never come last."""
BE = _words("am is are was were be been being 're 'm")
HAVE = _words("have has had 've")
AUXILIARIES = BE | HAVE | _words("do does did can could would will shall should may might must 'll ca wo")
NEGATIONS = _words("not n't never")

COORDINATORS = _words("and or but nor plus")
CONJUNCTIONS = _words("if because while unless although though whether whereas whenever wherever")
"""Words that begin a clause and are nothing else."""
CLAUSE_OR_NOUN = _words("since until till before after than")
"""Prepositions that begin a clause as well."""
BEFORE_THAT = _words(
    "right sure true hoping told said say says saying heard hear saw see know think thought believe afraid"
    " sorry mean noticed wish"
)
"""Words behind which a last "that" begins a clause."""
BEFORE_QUESTIONS = _words("out understand idea sure check see")
"""Words behind which a question word begins what they are about, beside verbs of knowing."""
ARGUMENT_QUESTIONS = _words("what which who whom whose")
QUESTIONS = ARGUMENT_QUESTIONS | _words("where when why how")
RELATIVES = _words("who which whose where whom")

OBJECT_VERBS = _words(
    "want need like love prefer get have take make buy find use put keep request require include become mean"
    " say see check change schedule reschedule confirm update replace order book rent receive own lose use"
    " enjoy owe cost hold discuss describe report pick drop fix reach contact transfer connect forward expect"
    " accept cover provide contain involve mention follow fill bother hate thank afford avoid carry catch"
    " choose create cause deliver donate download enter file handle hire identify lend let move pass print pull"
    " push raise recommend mind reserve return sell set sign spell suggest support teach treat try wear call"
    " write hit miss access add adjust arrange attach attend borrow build collect complete consider copy cut"
    " discover earn email examine exchange extend fax forget gain grab ignore inform install invite join limit"
    " list locate maintain mark measure notice obtain pack place plug post prepare prescribe prevent produce"
    " protect prove purchase record reduce refill refund register reject release remove renew repair repeat"
    " resolve review save select share skip solve spend submit switch test throw touch track translate unlock"
    " upgrade upload verify visit wash watch win"
)
"""Verbs after which an object or an infinitive is to come, nearly always or often."""
LENIENT_VERBS = _words(
    "call write check change move order sign pull push cover schedule reschedule confirm return transfer print"
    " pass follow file deliver thank reach use spell hold see enter try contact choose cost recommend attend"
    " complete copy exchange extend forget install join list notice prepare record register renew repair repeat"
    " save share switch test upgrade visit wash watch win refill fix"
)
"""Those of them that go without as well."""
GIVING_VERBS = _words("give show send bring offer")
LEAD_VERBS = GIVING_VERBS | _words("tell know wonder ask explain remember promise")
"""Verbs that lead to what they are about: "me" does not satisfy them."""
CLAUSE_VERBS = _words("think believe guess hope suppose wish assume figure")
"""Verbs that a whole clause follows."""
PASSIVE_LEADS = _words("tell suppose ask call")
"""Participles behind a form of "be" after which more is to come."""
INFINITIVE_WORDS = _words(
    "try want need like love plan hope suppose able allowed supposed going willing used decide interested due afraid"
)
"""Words of any class that an infinitive, or a phrase with a preposition, follows."""
_INTRANSITIVE_VERBS = _words(
    "close open leave work stay last start end come go run help look stop park fit ship charge speak talk plan"
    " do live pay stand wait listen happen sleep eat drink walk fly travel drive ring bleed hurt burst break"
    " mind matter recommend cancel decide smoke swim serve allow grow turn press"
)
VERBS = OBJECT_VERBS | LEAD_VERBS | CLAUSE_VERBS | _INTRANSITIVE_VERBS
"""Those that may be taken for nouns or adjectives."""

_IRREGULAR = {
    "got": "get", "gotten": "get", "had": "have", "has": "have", "'ve": "have", "told": "tell", "said": "say", "thought": "think",
    "bought": "buy", "brought": "bring", "took": "take", "taken": "take", "made": "make", "gave": "give", "given": "give",
    "sent": "send", "found": "find", "kept": "keep", "lost": "lose", "saw": "see", "seen": "see", "meant": "mean",
    "became": "become", "knew": "know", "known": "know", "spoke": "speak", "did": "do", "does": "do", "done": "do", "went": "go",
    "wrote": "write", "chose": "choose", "caught": "catch", "held": "hold", "sold": "sell", "wore": "wear", "taught": "teach",
    "lent": "lend", "goes": "go",
}  # fmt: skip


def lemma(word: str) -> str:
    """The form of a verb that the lists hold, where one of them holds any; else the word itself."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending in ("ing", "ed", "es", "s", "d"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stem = word[: -len(ending)]
            undoubled = stem[:-1] if stem[-1:] == stem[-2:-1] else stem
            for form in (stem, stem + "e", undoubled, stem[:-1] + "y"):
                if form in VERBS:
                    return form
    return word


ONLY_OPENERS = _words("hi hello hey morning afternoon evening so well now listen look and but um uh actually excuse because or")
"""Words that open a turn and never close it."""
OPENERS = ONLY_OPENERS | _words("good there okay ok right alright sorry me yes yeah no")
"""A turn of nothing but these has only begun, if one of them is of the kind above."""
LEAD_INS = _words("hi hello hey yes yeah yep okay ok um uh ah oh so and but well no right alright now , actually also plus")
"""Words in front of a sentence that are no part of it."""
FIRM_LEAD_INS = _words("no right now so well")
"""Those of them that often are: "no rooms", "right turn"."""
FAREWELLS = _words("thank you thanks please bye goodbye okay ok , very much so a lot")
REPLIES = _words(
    "yes yeah yep yup no nope sure okay ok absolutely definitely correct right exactly thanks thank you bye"
    " goodbye please of course not really very much that 's it fine great good perfect never mind alright too"
    " cool nothing else a lot all"
)
"""Words of which short answers are made."""
WEAK_ENDS = _words("it that this them him her mine you one up out too")
"""Words as which recognisers write a last "a", "the" or "to"."""

"""A sentence while it is read: its clauses, and what each still needs."""

from dataclasses import dataclass, field
from enum import Enum, auto

from agent.ears.grammar import lexicon as lex
from agent.ears.grammar.tagged import Tagged

FINITE_TAGS = ("VBZ", "VBP", "VBD", "MD")


class Need(Enum):
    """What a clause waits for."""

    NOTHING = auto()
    OBJECT = auto()
    """Behind a preposition."""
    COMPLEMENT = auto()
    """Behind a form of "be"."""
    ARGUMENT = auto()
    """Behind a verb that wants an object or an infinitive."""
    LEAD = auto()
    """Behind "tell me": what about."""
    SUBJECT = auto()
    VERB = auto()
    PHRASE = auto()
    """Behind a question word: its phrase may go on, then a subject or a verb comes."""
    NOUN = auto()
    """Behind an article, a possessive, an adjective that belongs to a noun."""
    MORE = auto()
    """Behind "and", or a filler."""


class Role(Enum):
    """What a clause is."""

    MAIN = auto()
    SUBORDINATE = auto()
    EMBEDDED = auto()
    RELATIVE = auto()


@dataclass(slots=True)
class Clause:
    """A clause that is being read. `question`: the question word that opened it; `gap`: that word stands for an object to come.

    `asks`: it is in the order of a question; `then`: what it needs once its subject is there.
    """

    role: Role
    need: Need = Need.NOTHING
    subject: bool = False
    finite: bool = False
    question: str = ""
    gap: bool = False
    asks: bool = False
    then: Need = Need.VERB

    @property
    def waits(self) -> bool:
        """It has a subject and no verb yet."""
        return self.subject and not self.finite

    @property
    def full(self) -> bool:
        """Nothing is missing."""
        return self.finite and self.need is Need.NOTHING

    @property
    def identifies(self) -> bool:
        """It was opened by a question word that itself is what "be" is followed by: "what the fee is"."""
        return self.question not in ("", "why")


@dataclass(slots=True)
class Sentence:
    """The words, with tags that are mended on the way, the open clauses, of which the first is the main one, and where we are.

    `noun`: where the last noun phrase ended. `determined`, `more`: the noun behind "the", the words behind "and" must come.
    `unclear`, `lenient`, `led_up`, `asked` are as in `Outcome`; `asked`: a question is embedded ("do you know when").
    """

    words: list[Tagged]
    clauses: list[Clause] = field(default_factory=lambda: [Clause(Role.MAIN)])
    at: int = 0
    noun: int = -9
    determined: bool = False
    more: bool = False
    unclear: bool = False
    lenient: bool = False
    led_up: bool = False
    asked: bool = False

    @property
    def main(self) -> Clause:
        return self.clauses[0]

    @property
    def top(self) -> Clause:
        """The clause that is being read."""
        return self.clauses[-1]

    @property
    def last(self) -> bool:
        """This is the last word."""
        return self.at == len(self.words) - 1

    @property
    def after_noun(self) -> bool:
        """A noun phrase ended with the word before."""
        return self.noun == self.at - 1

    @property
    def only_main(self) -> bool:
        return len(self.clauses) == 1

    def word(self, ahead: int = 0) -> str:
        """The word so many further on; empty beyond the ends."""
        at = self.at + ahead
        return self.words[at].word if 0 <= at < len(self.words) else ""

    def tag(self, ahead: int = 0) -> str:
        """The part of speech of the word so many further on; empty beyond the ends."""
        at = self.at + ahead
        return self.words[at].tag if 0 <= at < len(self.words) else ""

    def is_auxiliary(self, ahead: int = 0) -> bool:
        word = self.word(ahead)
        return word in lex.AUXILIARIES or (word in ("'s", "'d") and self.tag(ahead) != "POS")

    def open(self, role: Role, need: Need = Need.NOTHING) -> Clause:
        """Begin a clause inside the last one, which needs nothing else then."""
        if self.top.need not in (Need.VERB, Need.SUBJECT):
            self.top.need = Need.NOTHING
        self.determined = False
        self.clauses.append(Clause(role, need, gap=role is Role.RELATIVE))
        return self.top

    def open_with_subject(self, role: Role) -> None:
        """Begin a clause with the pronoun that is its subject."""
        self.open(role, Need.VERB).subject = True

    def begin_main(self) -> Clause:
        """Begin a new main clause: what came before leads up to it, or was complete."""
        self.clauses = [Clause(Role.MAIN)]
        self.determined = False
        return self.top

    def resume(self) -> None:
        """The clause has its verb: the next one belongs to a clause around it that has none, or to a new one."""
        while not self.only_main and self.top.finite:
            self.clauses.pop()
        if self.top.finite:
            self.open(Role.EMBEDDED)

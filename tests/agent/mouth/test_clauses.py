import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mouth.clauses import LONGEST_CHARACTERS, Break, Clause, ClauseSplitter

pytestmark = pytest.mark.unit


def split(text: str) -> list[Clause]:
    splitter = ClauseSplitter()
    return [*splitter.push(text), *splitter.flush()]


def texts(text: str) -> list[str]:
    return [clause.text for clause in split(text)]


TRICKY = """I can offer you Tuesday, at 8:00 am with Dr. Smith. and or but $1,250.50 555 010-0142 (555) No. 5 September 11, 2026
e.g. the — – so; then: yes! really? 8 a.m. Monday 1. 2. St. Mary's p.m. … J. 😀 "Quoted." (aside)"""
WORDS = st.sampled_from([*TRICKY.split(), "\n", "\n\n"])
ANSWERS = st.one_of(st.text(), st.lists(WORDS, max_size=40).map(" ".join))


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Sure, I can help you with that, one moment please.", ["Sure, I can help you with that,", "one moment please."]),
        ("Okay. I will look.", ["Okay.", "I will look."]),
        (
            "I have found three free appointments for you on Tuesday afternoon and one on Friday.",
            ["I have found three free appointments for you", "on Tuesday afternoon and one on Friday."],
        ),
        ("We are open all day and you can come when you like.", ["We are open all day", "and you can come when you like."]),
        ("Please hold the line.", ["Please hold the line."]),
        ("1. Open the door\n2. Go in", ["1. Open the door", "2. Go in"]),
        ("He said \"Stop.\" Then he left.", ['He said "Stop."', "Then he left."]),
        ("We call — as agreed — tomorrow morning.", ["We call —", "as agreed — tomorrow morning."]),
        ("   ", []),
        ("", []),
    ],
)  # fmt: skip
def test_where_an_answer_is_cut(text: str, clauses: list[str]) -> None:
    assert texts(text) == clauses


@pytest.mark.parametrize(
    "text",
    [
        "Your total is $1,250.50 today.",
        "Come on September 11, 2026 please.",
        "Dial (555) 010-0142 please.",
        "Call Dr. Anna Smith.",
        "Call J. K. Rowling.",
        "Ask for e.g. Mary or No. 5 there.",
        "It is at St. Mary's.",
        "Come at 8 a.m. Monday.",
        "It costs 3 p.m. or so.",
        "See Sept. 5 there.",
    ],
)
def test_no_cut_inside_numbers_times_and_names(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("Come at 8 a.m. Please be there.", "Please be there."),
        ("No. We are closed.", "We are closed."),
        ("It is on 9/11. Please come.", "Please come."),
        ("He lives in the U.S. Call him.", "Call him."),
    ],
)
def test_a_full_stop_behind_an_abbreviation_still_ends_a_sentence(text: str, second: str) -> None:
    assert texts(text)[1] == second


def test_a_natural_cut_keeps_numbers_with_what_they_count() -> None:
    first = texts("You can come to our practice between eight and nine or ten and eleven on any day")[0]
    assert first == "You can come to our practice"


def test_pauses_follow_the_punctuation() -> None:
    pauses = [clause.pause_us for clause in split("I see that, yes. Well then;\n\nLet me look at it now")]
    assert pauses == [0, Break.COMMA * 1_000, Break.SENTENCE * 1_000, Break.PARAGRAPH * 1_000]


def test_a_cut_without_punctuation_has_no_pause() -> None:
    assert [clause.pause_us for clause in split("I have found three free appointments for you on Tuesday afternoon")] == [0, 0]


def test_the_first_clause_comes_while_the_answer_is_being_written() -> None:
    splitter = ClauseSplitter()
    assert splitter.push("Sure, I can help you") == []
    assert splitter.push(" with that, ") == []
    assert splitter.push("o") == [Clause("Sure, I can help you with that,")]
    assert splitter.flush() == [Clause("o", Break.COMMA * 1_000)]


def test_an_abbreviation_waits_for_the_whole_next_word() -> None:
    splitter = ClauseSplitter()
    assert splitter.push("At 8 a.m. Mon") == []
    assert splitter.push("itor it. ") == [Clause("At 8 a.m.")]


def test_after_flush_the_next_answer_begins() -> None:
    splitter = ClauseSplitter()
    first = [*splitter.push("One, two, three, four. Five"), *splitter.flush()]
    assert [*splitter.push("One, two, three, four. Five"), *splitter.flush()] == first


def test_a_text_without_any_break_is_still_cut() -> None:
    clauses = texts(" ".join(["telephone"] * 300))
    assert len(clauses) > 1
    assert max(len(clause) for clause in clauses) <= LONGEST_CHARACTERS + len("telephone") + 1


@given(ANSWERS)
def test_every_word_is_in_exactly_one_clause(text: str) -> None:
    assert [word for clause in split(text) for word in clause.text.split()] == text.split()


@given(ANSWERS, st.lists(st.integers(min_value=0, max_value=12)))
def test_the_pieces_in_which_a_text_comes_do_not_matter(text: str, sizes: list[int]) -> None:
    splitter, clauses, rest = ClauseSplitter(), list[Clause](), text
    for size in sizes:
        clauses += splitter.push(rest[:size])
        rest = rest[size:]
    clauses += [*splitter.push(rest), *splitter.flush()]
    assert clauses == split(text)


@given(ANSWERS)
def test_no_clause_is_empty_and_the_first_has_no_pause(text: str) -> None:
    clauses = split(text)
    assert all(clause.text.strip() for clause in clauses)
    assert not clauses or clauses[0].pause_us == 0

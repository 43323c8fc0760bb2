import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.mouth.spoken import LONGEST_PIECE, LONGEST_SPOKEN, Reading, spoken_form

pytestmark = pytest.mark.unit


def said(text: str) -> str:
    return " ".join(reading.spoken for reading in spoken_form(text) if reading.spoken)


TIMES = [
    ("8:00 am", "eight A.M."),
    ("8am", "eight A.M."),
    ("8:05 PM", "eight oh five P.M."),
    ("7:30pm today", "seven thirty P.M. today"),
    ("at 8 a.m.", "at eight A.M.."),
    ("8 a.m. Monday", "eight A.M. Monday"),
    ("8:00", "eight o'clock"),
    ("17:30", "seventeen thirty"),
    ("17:00", "seventeen hundred"),
    ("25:00", "25:00"),
    ("8 am-6 pm", "eight A.M. to six P.M."),
    ("3-4pm", "3 to four P.M."),
    ("9:00-17:30", "nine o'clock to seventeen thirty"),
    ("7:30 – 8:15 pm", "seven thirty to eight fifteen P.M."),
    ("24/7", "twenty four seven"),
]
DATES = [
    ("9/11/2026", "September eleventh, 2026"),
    ("9-11-2026", "September eleventh, 2026"),
    ("2026-09-11", "September eleventh, 2026"),
    ("Sept. 5", "September fifth"),
    ("May 5-7", "May fifth to the seventh"),
    ("Mon-Fri", "Monday to Friday"),
    ("Mon - Fri 9-5, Sat 10-2.", "Monday to Friday 9 to 5, Saturday 10 to 2."),
    ("Mon/Wed/Fri", "Monday, Wednesday, Friday"),
    ("Tue and Sat", "Tuesday and Saturday"),
    ("I sat in the sun with Jan", "I sat in the sun with Jan"),
    ("the 3rd-5th", "the 3rd to 5th"),
]
PRICES = [
    ("$1,250.50", "one thousand two hundred fifty dollars and fifty cents"),
    ("$0.50", "fifty cents"),
    ("$1", "one dollar"),
    ("$1.05", "one dollar and five cents"),
    ("$5.00.", "five dollars."),
    ("-$35", "minus thirty five dollars"),
    ("$10-20", "ten to twenty dollars"),
    ("$10-$20", "ten dollars to twenty dollars"),
    ("$3 million", "three million dollars"),
    ("$1.5M", "one point five million dollars"),
    ("$35/month", "thirty five dollars per month"),
    ("€35", "thirty five euros"),
    ("35 €", "thirty five euros"),
    ("£3.01", "three pounds and one penny"),
    ("35 USD", "thirty five dollars"),
    ("US$35", "thirty five dollars"),
    ("¥500", "five hundred yen"),
]
NUMBERS = [
    ("10%", "10%"),
    ("10-15%", "10 to 15 percent"),
    ("1-2 weeks", "1 to 2 weeks"),
    ("10-15 min", "10 to 15 minutes"),
    ("20-minute wait", "20-minute wait"),
    ("16GB", "16 gigabytes"),
    ("20°C", "20 degrees Celsius"),
    ("10k", "10 thousand"),
    ("2x", "2 times"),
    ("1/2", "one half"),
    ("~10 min", "about 10 minutes"),
    ("5 < 6", "5 less than 6"),
    ("6'2\"", "6 foot 2"),
    ("1,000,000", "1,000,000"),
    ("10000", "10000"),
]
PHONES = [
    ("(555) 010-0142", "five five five, zero one zero, zero one four two"),
    ("call (555) 010-0142.", "call five five five, zero one zero, zero one four two."),
    ("+1 555 0142", "plus one, five five five, zero one four two"),
    ("555-0142", "five five five, zero one four two"),
    ("5550100142", "five five five, zero one zero, zero one four two"),
    ("+442079460958", "plus four four, two zero, seven nine four six, zero nine five eight"),
    ("1-800-555-0199 ext. 12", "one, eight zero zero, five five five, zero one nine nine, extension one two"),
    ("5 10 15 20", "5 10 15 20"),
]
CODES = [
    ("A1B-204", "eh one B, two zero four"),
    ("UA204", "U eh two zero four"),
    ("4B", "four B"),
    ("COVID-19", "covid nineteen"),
    ("order number is 4729", "order number is four seven two nine"),
    ("PIN: 0042", "PIN: zero zero four two"),
    ("zip 90210", "zip nine zero two one zero"),
    ("ending in 4242", "ending in four two four two"),
    ("12345678", "one two three, four five six seven eight"),
    ("4111 1111 1111 1111", "four one one one one one one one one one one one one one one one"),
    ("Room 1204", "Room 1204"),
    ("No. 5", "Number 5"),
    ("#1", "number 1"),
]
NAMES = [
    ("Dr. Smith", "Dr Smith"),
    ("15 Oak Dr.", "15 Oak Drive."),
    ("15 Oak St. Please", "15 Oak Street. Please"),
    ("on Main St. We", "on Main Street. We"),
    ("St. Mary's", "Saint Mary's"),
    ("120 N Main St, Apt 4B", "120 North Main Street, Apartment four B"),
    ("e.g. this", "for example this"),
    ("i.e. that", "that is that"),
    ("your appt tomorrow", "your appointment tomorrow"),
    ("AT&amp;T", "AT&T"),
    ("IMPORTANT", "IMPORTANT"),
    ("U.S.", "U.S."),
]
ADDRESSES = [
    ("anna.smith@example.com", "anna dot smith at example dot com"),
    ("info24@my-shop.co.uk.", "info twenty four at M Y dash shop dot co dot U K."),
    ("www.example.com/pay", "example dot com slash pay"),
    ("https://www.example.com/a/b?session=1234567890&next=1234567890.", "example dot com."),
    ("end.Start", "end.Start"),
]
NOT_FOR_THE_EAR = [
    ("😀 hi", "hi"),
    (":) hi", "hi"),
    ("**bold** _soft_ `code`", "bold soft code"),
    ("# Title", "Title"),
    ("- first item", "first item"),
    ("[our site](https://example.com/x) now", "our site now"),
    ("<b>hi</b><br>you", "hi you"),
    ("你好 hi", "hi"),
    ("Привет", ""),
    ("Hi!!!", "Hi!"),
    ("What?!", "What?"),
    ("Well...", "Well…"),
    ("...", ""),
    ("\x00\x07", ""),
    ("a\x00b", "ab"),
    ("ﬁne", "fine"),
    ("", ""),
]


@pytest.mark.parametrize(
    ("written", "spoken"), [*TIMES, *DATES, *PRICES, *NUMBERS, *PHONES, *CODES, *NAMES, *ADDRESSES, *NOT_FOR_THE_EAR]
)
def test_what_is_said(written: str, spoken: str) -> None:
    assert said(written) == spoken


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("only $35 today", [("only", "only"), ("$35", "thirty five dollars"), ("today", "today")]),
        ("at 8:00 am sharp", [("at", "at"), ("8:00", "eight"), ("am", "A.M."), ("sharp", "sharp")]),
        ("(555) 010-0142", [("(555)", "five five five,"), ("010-0142", "zero one zero, zero one four two")]),
        ("for $3 million", [("for", "for"), ("$3", "three"), ("million", "million dollars")]),
        ("on 5 May 2026", [("on", "on"), ("5", "the fifth of"), ("May", "May"), ("2026", "2026")]),
        ("10 km away", [("10", "10"), ("km", "kilometers"), ("away", "away")]),
        ("see <a href='x'>this page</a>", [("see", "see"), ("<a", ""), ("href='x'>this", "this"), ("page</a>", "page")]),
        ("yes 😀 no", [("yes", "yes"), ("😀", ""), ("no", "no")]),
        ("[the\tweb page](http://x.de)", [("[the", "the"), ("web", "web"), ("page](http://x.de)", "page")]),
    ],
)  # fmt: skip
def test_each_written_word_keeps_its_own_sound(text: str, readings: list[tuple[str, str]]) -> None:
    assert list(spoken_form(text)) == [Reading(written, spoken) for written, spoken in readings]


@pytest.mark.parametrize(
    "text", ["x" * 3_000, "9" * 3_000, "a." * 1_500, "1-" * 1_500, "A1-" * 1_000, "http://a.com/" + "b" * 3_000]
)
def test_three_thousand_characters_without_a_space_are_said_in_part_and_in_pieces(text: str) -> None:
    (reading,) = spoken_form(text)
    pieces = reading.spoken.split()
    assert 1 <= len(pieces) <= LONGEST_SPOKEN
    assert max(map(len, pieces)) <= LONGEST_PIECE
    assert reading.written == text


TRICKY = """$1,250.50 8:00 am - – Mon Sat Dr. St. 15 Oak (555) 010-0142 +1 e.g. 24/7 10% A1B-204 a@b.com www.x.com/ May 5-7 No. ½
°C ' " “ … 😀 你 é ² <b> &amp; [x](y) and I A the 1e5 5'6" # _ * ~ | 1 / . ,"""
PIECES = st.sampled_from([*TRICKY.split(), "\x00", "\u200b"])
HOSTILE = st.one_of(st.text(), st.lists(PIECES, max_size=20).map(" ".join), st.lists(PIECES, max_size=12).map("".join))


@given(HOSTILE)
def test_no_text_breaks_it_and_every_written_word_has_a_reading(text: str) -> None:
    readings = spoken_form(text)
    assert [reading.written for reading in readings] == text.split()
    for reading in readings:
        assert reading.spoken == " ".join(reading.spoken.split())
        assert not set(reading.spoken) & set("<>[]{}\\^`*|\x00\u200b😀你")

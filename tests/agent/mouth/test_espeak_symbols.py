import pytest

from agent.mouth.espeak_symbols import espeak_symbols

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("phonemes", "espeak"),
    [
        ("həlˈO", "həlˈoʊ"),  # hello
        ("tˈAbᵊl", "tˈeɪbəl"),  # table
        ("mˈI hˈWs", "mˈaɪ hˈaʊs"),  # my house
        ("ʤˈYn", "dʒˈɔɪn"),  # join
        ("ʧˈɛk", "tʃˈɛk"),  # check
        ("θˈɜɹsdˌA", "θˈɜːsdˌeɪ"),  # Thursday
        ("nˈʌmbəɹ", "nˈʌmbɚ"),  # number
        ("kwˈɔɹTəɹ", "kwˈɔːɹɾɚ"),  # quarter
        ("ˈɔɹdəɹɪŋ", "ˈɔːɹdɚɹɪŋ"),  # ordering
        ("fɹˈi ˈiziəst", "fɹˈiː ˈiːziəst"),  # free easiest
        ("jˈu", "jˈuː"),  # you
        ("“hˈI” (ɡˈO) wˈA—nˈO…", "hˈaɪ ,ɡˈoʊ, wˈeɪ,nˈoʊ."),
        ("", ""),
    ],
)
def test_what_espeak_would_write(phonemes: str, espeak: str) -> None:
    assert "".join(espeak_symbols(phonemes)) == espeak


def test_there_is_one_entry_for_each_phoneme() -> None:
    assert len(espeak_symbols("θˈɜɹsdˌA")) == len("θˈɜɹsdˌA")

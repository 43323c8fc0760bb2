"""Numbers and letters as words."""

from hibari.g2p import numbers  # type: ignore[import-untyped]

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LARGEST = 10**15
LETTERS = {"A": "eh", "I": "eye"}
"""Letters that the library would take for a word when they stand alone."""
_VOWELS = frozenset("aeiouyAEIOUY")


def cardinal(number: int) -> str:
    """1250 is "one thousand two hundred fifty"; beyond `LARGEST`, and below zero, digit by digit."""
    if not 0 <= number < LARGEST:
        return digit_by_digit(str(number))
    words = str(numbers.cardinal(number)).replace(",", " ").replace("-", " ").split()
    return " ".join(word for word in words if word != "and")


def ordinal(number: int) -> str:
    """23 is "twenty-third"; for numbers from 0 to 999."""
    return str(numbers.ordinal(number))


def digit_by_digit(digits: str) -> str:
    """ "204" is "two zero four"; what is no digit is left out."""
    return " ".join(DIGITS[int(digit)] for digit in digits if digit.isascii() and digit.isdigit())


def number_or_digits(digits: str) -> str:
    """A number in a code: up to two digits as a number, "12" "twelve"; more, or with a zero in front, digit by digit."""
    return cardinal(int(digits)) if len(digits) <= 2 and not (len(digits) > 1 and digits[0] == "0") else digit_by_digit(digits)


def spelled(letters: str) -> str:
    """ "AB" is "eh B": letter by letter, as the library reads single letters."""
    return " ".join(LETTERS.get(letter, letter) for letter in letters.upper())


def word_or_spelled(letters: str) -> str:
    """Letters that look like a word stay one; up to two letters, or without a vowel, are spelled."""
    sayable = len(letters) > 2 and any(letter in _VOWELS for letter in letters)
    return letters.lower() if sayable else spelled(letters)

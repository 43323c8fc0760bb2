"""Server-sent events (WHATWG HTML, 9.2.6) from bytes cut anywhere: pure, no I/O."""

import re

from agent.llm.base import UnusableAnswer

LONGEST_EVENT = 262_144
"""Bytes of one line, and of the lines of one event together."""

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventStream:
    """Takes bytes, gives the `data` of each event that they complete. Other fields and comments are of no use here.

    Bytes that are no UTF-8 become U+FFFD, as the standard has it. An event that the end of the stream cuts off is dropped.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._after_return = False
        self._first_line = True

    def feed(self, received: bytes) -> list[str]:
        """The events complete with these bytes. Raises `UnusableAnswer` for a line or an event over `LONGEST_EVENT`."""
        if not received:
            return []
        if self._after_return and received.startswith(b"\n"):
            received = received[1:]
        self._after_return = received.endswith(b"\r")
        head, *lines = _LINE_END.split(received)
        self._line += head
        events = []
        for following in lines:
            events += self._end_line()
            self._line = bytearray(following)
        self._check(len(self._line))
        return events

    def _end_line(self) -> list[str]:
        line = bytes(self._line)
        if self._first_line:
            line, self._first_line = line.removeprefix(_BYTE_ORDER_MARK), False
        self._check(len(line))
        if not line:
            data, self._data, self._size = self._data, [], 0
            return [b"\n".join(data).decode(errors="replace")] if data else []
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value) + 1
            self._check(self._size)
        return []

    def _check(self, size: int) -> None:
        if size > LONGEST_EVENT:
            raise UnusableAnswer(f"the model server sent an event of more than {LONGEST_EVENT} bytes: see what serves that URL")

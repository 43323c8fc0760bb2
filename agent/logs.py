"""Logs: one event a line, for people on a terminal and as JSON for machines; personal values only under one key, off by default.

    log = get_logger("venus.call")
    log.warning("line refused", call_id=call_id, personal={"remote": number})

What can identify a person goes into `personal` and nowhere else; `configure` drops it unless told to keep it. Private text (what
passes between frontend and harness) is never logged at all.
"""

import logging
import os
import sys
import traceback
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO, cast

import structlog

from agent.errors import Refused

PERSONAL_KEY = "personal"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def configure(json: bool = False, personal: bool = False, level: str = "INFO", file: TextIO | None = None) -> None:
    """Set up logging for this process. `json`: one JSON object a line. `personal`: keep the personal values. To stderr.

    From then on no log call raises, also when nothing can be written. Raises `Refused` for a level that there is not.
    """
    out = file or sys.stderr
    levels = logging.getLevelNamesMapping()
    if level.upper() not in levels:
        raise Refused(f"there is no log level {level[:20]!r}: use {', '.join(LEVELS)}")
    processors: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        without_message,
    ]
    if not personal:
        processors.append(without_personal)
    processors.append(structlog.processors.JSONRenderer() if json else structlog.dev.ConsoleRenderer(colors=out.isatty()))
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(levels[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Lasting(out))),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, _Libraries)] + [_Libraries()]


def get_logger(name: str) -> Any:
    """A logger that is safe even where nobody called `configure` (the library's own default prints local variables)."""
    if not structlog.is_configured():
        configure()
    return structlog.get_logger(name)


def configure_from_environment() -> None:
    """`VENUS_LOG=json`, `VENUS_LOG_LEVEL`: what one process of ours is told, all of them are. Raises `Refused` as `configure`."""
    configure(json=os.environ.get("VENUS_LOG") == "json", level=os.environ.get("VENUS_LOG_LEVEL") or "INFO")


class _Libraries(logging.Handler):
    """What libraries log goes the same way. Only the fixed part of their message: what they fill in may quote a call."""

    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger(record.name)
        log.log(record.levelno, "a library reports", library=record.name, says=str(record.msg)[:200], exc_info=record.exc_info)


class _Lasting:
    """A stream that may be gone (a closed terminal, a full disk): what logs goes on."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._out.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._out.flush()


def without_personal(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: drop what can identify a person."""
    event.pop(PERSONAL_KEY, None)
    return event


def without_message(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: an exception becomes its type and the places it went through; its message may quote a call."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)
        event["error"] = type(error).__name__
        event["at"] = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return event

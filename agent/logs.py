"""Logs: one event a line, for people on a terminal and as JSON for machines; personal values only under one key, off by default.

    log = structlog.get_logger("venus.call")
    log.warning("line refused", call_id=call_id, personal={"remote": number})

What can identify a person goes into `personal` and nowhere else; `configure` drops it unless told to keep it. Private text (what
passes between frontend and harness) is never logged at all.
"""

import logging
import sys
import traceback
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, TextIO

import structlog

PERSONAL_KEY = "personal"


def configure(json: bool = False, personal: bool = False, level: str = "INFO", file: TextIO | None = None) -> None:
    """Set up logging for this process. `json`: one JSON object a line. `personal`: keep the personal values. To stderr."""
    out = file or sys.stderr
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
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )


def without_personal(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: drop what can identify a person."""
    event.pop(PERSONAL_KEY, None)
    return event


def without_message(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: an exception becomes its type and the places it went through; its message may quote a call."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)
        event["error"] = type(error).__name__
        event["at"] = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return event

"""Where this project keeps what it can make or fetch again."""

import os
from pathlib import Path

from agent.errors import Refused


def cache_folder() -> Path:
    """`venus-line` in the user's cache folder (`XDG_CACHE_HOME`, by default `~/.cache`). It need not exist.

    Raises Refused when neither is known.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))  # the standard has it ignored unless absolute
    try:
        return (cache if cache.is_absolute() else Path.home() / ".cache") / "venus-line"
    except RuntimeError as error:
        sets = "set XDG_CACHE_HOME to a folder of its own, or say where the models are with VENUS_MODELS_DIR"
        raise Refused(f"this user has no home folder: {sets}") from error

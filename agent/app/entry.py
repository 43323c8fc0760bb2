"""The `venus` command. Importing everything takes the better part of a second, in which Ctrl-C is no reason for a traceback."""

import os


def main() -> None:
    """Run the command line."""
    # Before numpy: matrices here are small, and threads of its own only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from agent.app.cli import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()

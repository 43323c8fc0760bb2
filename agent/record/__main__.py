"""`python -m agent.record`: the recorder process, started by `agent.record.client` and by nobody else."""

import argparse
import sys
from pathlib import Path

from agent.record.process import serve


def main() -> int:
    """Parse the command line and serve; see `serve`."""
    parser = argparse.ArgumentParser(prog="python -m agent.record", description="Writes the records of calls; started by venus.")
    parser.add_argument("--fd", type=int, required=True, help="an inherited, connected stream socket")
    parser.add_argument("--calls-dir", type=Path, required=True)
    parser.add_argument("--no-audio", dest="audio", action="store_false")
    parser.add_argument("--no-report", dest="report", action="store_false")
    given = parser.parse_args()
    return serve(given.fd, given.calls_dir, audio=given.audio, report=given.report)


if __name__ == "__main__":
    sys.exit(main())

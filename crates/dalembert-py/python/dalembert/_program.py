"""The program `dalembert` that comes with the package."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    """Runs the program with the arguments of this process; returns its exit code."""
    # The program handles Ctrl-C itself: it finishes its recording first.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.run_program(["dalembert", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

"""`python -m dalembert` is the program `dalembert`."""

import sys

from ._program import main

sys.exit(main())

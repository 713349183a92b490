"""`python -m driftless_filters ...` is the command `driftless ...`."""

import sys

from ._driftless import command

sys.exit(command(sys.argv[1:]))

"""The command line."""

import sys

from vta.cli.terminal.interrupt import is_command, stay_quiet

# The modules of the command take a moment to import.
if is_command(sys.argv):
    stay_quiet()

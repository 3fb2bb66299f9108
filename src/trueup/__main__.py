"""`python -m trueup`: the command line without its script."""

import sys

from trueup.cli import main

if __name__ == "__main__":
    sys.exit(main())

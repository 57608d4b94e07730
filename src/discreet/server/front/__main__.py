"""`python -m discreet.server.front`."""

import sys

from discreet.server.front.main import main

sys.exit(main())

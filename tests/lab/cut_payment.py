"""Cut the link of a keeper in a payment: python -m tests.lab.cut_payment FOLDER.

Each keeper has a network namespace where the machine permits them, else a proxy. The last line of the output is JSON:
how the keepers were apart, the outcome for each moment of the cut, and the checks that failed.
"""

import json
import sys
from pathlib import Path

from tests.guarantee.ledger.links import AFTER, BEFORE, LATE
from tests.lab.keepers.cut_links import cut, finish, two_hosts
from tests.lab.keepers.networks import enter

if __name__ == "__main__":
    with two_hosts(Path(sys.argv[1]), enter()) as hosts:
        told = {when: cut(hosts, "payment", when, 1.0) for when in (BEFORE, AFTER, LATE)}
        checks = finish(hosts, late=3.0)
    broken = {name: found for name, found in checks.broken.items() if found}
    print(json.dumps({"kind": hosts.kind, "told": told, "hold": checks.hold, "broken": broken}))

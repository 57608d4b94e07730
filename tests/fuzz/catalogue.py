"""All targets."""

from tests.fuzz.commands import COMMANDS
from tests.fuzz.files import FILES
from tests.fuzz.vaults import VAULTS

TARGETS = {target.name: target for target in (*FILES, *VAULTS, COMMANDS)}

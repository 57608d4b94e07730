"""All targets."""

from tests.fuzz.commands import COMMANDS
from tests.fuzz.files import FILES
from tests.fuzz.looked_after import LOOKED_AFTER
from tests.fuzz.reading import READING
from tests.fuzz.vaults import VAULTS

TARGETS = {target.name: target for target in (*FILES, *READING, *VAULTS, *LOOKED_AFTER, COMMANDS)}

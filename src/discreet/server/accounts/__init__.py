"""Accounts: who may ask, what each key has spent, and what the same request found before."""

from discreet.server.accounts.accounts import Accounts as Accounts
from discreet.server.accounts.accounts import AccountsError as AccountsError
from discreet.server.accounts.accounts import OlderCopy as OlderCopy
from discreet.server.accounts.grants import Meter as Meter
from discreet.server.accounts.keys import CAP_IS_POLICY as CAP_IS_POLICY
from discreet.server.accounts.keys import BudgetRequest as BudgetRequest
from discreet.server.accounts.keys import Key as Key
from discreet.server.accounts.keys import Limits as Limits
from discreet.server.accounts.questions import InFlight as InFlight
from discreet.server.accounts.questions import KeyExhausted as KeyExhausted
from discreet.server.accounts.questions import Mismatch as Mismatch
from discreet.server.accounts.questions import NotValid as NotValid
from discreet.server.accounts.questions import Outcome as Outcome
from discreet.server.accounts.questions import RateLimited as RateLimited
from discreet.server.accounts.questions import Replay as Replay
from discreet.server.accounts.questions import Reservation as Reservation
from discreet.server.accounts.questions import Settled as Settled

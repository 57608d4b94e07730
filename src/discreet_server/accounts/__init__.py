"""Accounts: who may ask, what each key has spent, and what the same request found before."""

from discreet_server.accounts.accounts import Accounts as Accounts
from discreet_server.accounts.accounts import AccountsError as AccountsError
from discreet_server.accounts.accounts import OlderCopy as OlderCopy
from discreet_server.accounts.grants import Meter as Meter
from discreet_server.accounts.keys import CAP_IS_POLICY as CAP_IS_POLICY
from discreet_server.accounts.keys import BudgetRequest as BudgetRequest
from discreet_server.accounts.keys import Key as Key
from discreet_server.accounts.keys import Limits as Limits
from discreet_server.accounts.questions import InFlight as InFlight
from discreet_server.accounts.questions import KeyExhausted as KeyExhausted
from discreet_server.accounts.questions import Mismatch as Mismatch
from discreet_server.accounts.questions import NotValid as NotValid
from discreet_server.accounts.questions import Outcome as Outcome
from discreet_server.accounts.questions import RateLimited as RateLimited
from discreet_server.accounts.questions import Replay as Replay
from discreet_server.accounts.questions import Reservation as Reservation
from discreet_server.accounts.questions import Settled as Settled

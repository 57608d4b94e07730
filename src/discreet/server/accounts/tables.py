"""The tables of the accounts. Neither a key, nor the text of a question, nor a private value is in them."""

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, LargeBinary, MetaData, String, Table, Text

METADATA = MetaData()

STATE = Table(
    "accounts_state",
    METADATA,
    Column("name", String, primary_key=True),
    Column("value", BigInteger, nullable=False),
)
"""`format`: of the tables. `orders`: the number of orders of a curve. `changes`: how often anything was written."""

VAULTS = Table(
    "account_vault",
    METADATA,
    Column("name", String, primary_key=True),
    Column("epsilon", Float, nullable=False),
    Column("delta", Float, nullable=False),
    Column("failures", Float, nullable=False),
    Column("grant_order", Float, nullable=False),
    Column("accountant", String, nullable=False),
    Column("reading", String, nullable=False),
    Column("pool_loss", LargeBinary, nullable=False),
    Column("pool_failures", BigInteger, nullable=False),
)
"""The grant of each vault, and what its shared keys have spent together (the pool)."""

SHARES = Table(
    "account_share",
    METADATA,
    Column("vault", String, primary_key=True),
    Column("holder", String, primary_key=True),
    Column("loss", BigInteger, nullable=False),
    Column("failures", BigInteger, nullable=False),
)
"""The parts of a grant that are reserved: for a key, or for the custodian's own work (holder `kept`)."""

KEYS = Table(
    "account_key",
    METADATA,
    Column("id", String, primary_key=True),
    Column("digest", String, nullable=False, unique=True),
    Column("name", String, nullable=False),
    Column("vaults", Text, nullable=False),
    Column("models", Text, nullable=False),
    Column("epsilon", Float, nullable=False),
    Column("delta", Float, nullable=False),
    Column("failures", Float, nullable=False),
    Column("questions", Integer),
    Column("per_question", Float),
    Column("rate_count", Integer),
    Column("rate_seconds", Float),
    Column("expires", Float),
    Column("reserved", Boolean, nullable=False),
    Column("footer", Boolean, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Column("created", Float, nullable=False),
)

METERS = Table(
    "account_meter",
    METADATA,
    Column("key", String, primary_key=True),
    Column("vault", String, primary_key=True),
    Column("loss", LargeBinary, nullable=False),
    Column("failures", BigInteger, nullable=False),
    Column("questions", Integer, nullable=False),
)
"""What the questions of a key have spent in a vault, those in flight at their ceiling; and how many paid."""

QUESTIONS = Table(
    "account_question",
    METADATA,
    Column("id", String, primary_key=True),
    Column("key", String, nullable=False),
    Column("vault", String, nullable=False),
    Column("model", String, nullable=False),
    Column("asked", Float, nullable=False),
    Column("settled", Float),
    Column("lost", Boolean, nullable=False),
    Column("fingerprint", String, nullable=False),
    Column("idempotency", String),
    Column("epsilon", Float, nullable=False),
    Column("delta", Float, nullable=False),
    Column("loss", LargeBinary),
    Column("failures", BigInteger),
    Column("stopped", String, nullable=False),
    Column("reply", Text),
    Index("account_question_of_key", "key", "asked"),
    Index("account_question_like", "key", "fingerprint", "asked"),
    Index("account_question_named", "key", "idempotency"),
    Index("account_question_asked", "asked"),
)
"""A question with its charge. `loss` and `failures` are there until it is settled; `reply` for a day."""

NAMES = Table(
    "account_name",
    METADATA,
    Column("key", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("question", String, nullable=False),
    Column("asked", Float, nullable=False),
)
"""The Idempotency-Keys of requests that got the answer to a question of another request."""

REQUESTS = Table(
    "account_request",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("key", String, nullable=False),
    Column("epsilon", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("made", Float, nullable=False),
    Column("state", String, nullable=False),
    Column("decided", Float),
)
"""Requests of analysts for more budget."""

SHARED = MetaData()

FLIGHTS = Table(
    "account_flight",
    SHARED,
    Column("question", String, primary_key=True),
    Column("server", String, nullable=False),
)
"""In accounts that several servers share: the server that has a question in flight. A server that starts again knows by
it which questions it left behind, and leaves those of the others alone."""

"""The commands of the server, which `discreet` finds by entry points. Each is loaded when it is called."""

from discreet.plugins import PluginCommand

_HEADING = "Serve analysts"
SERVE = PluginCommand(
    "discreet_server.cli.serve", "Serve vaults to analysts over HTTP, with keys and budgets.", _HEADING
)
KEY = PluginCommand(
    "discreet_server.cli.key",
    "Issue, cap and revoke the keys of analysts, and decide on their requests.",
    _HEADING,
    {
        "key-accept-copy": "CopyAccepted",
        "key-approve": "Approval",
        "key-deny": "Denial",
        "key-extend": "KeyWithMeter",
        "key-issue": "KeyWithSecret",
        "key-list": "KeyList",
        "key-requests": "RequestList",
        "key-revoke": "KeyWithMeter",
        "key-rotate": "KeyWithSecret",
        "key-show": "KeyWithMeter",
    },
)
AUDIT_LOG = PluginCommand(
    "discreet_server.cli.serve",
    "Check or print the audit log of a server.",
    _HEADING,
    {"audit-log-verify": "LogVerified"},
)
DESK_LINK = PluginCommand(
    "discreet_server.cli.serve",
    "Print a link that logs the custodian in once, within an hour.",
    _HEADING,
    {"desk-link": "DeskLink"},
)

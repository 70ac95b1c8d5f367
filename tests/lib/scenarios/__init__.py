"""The tables of scenarios. A new one is a module and a line here."""

from lab import Scenario
from scenarios import chat_clients, chat_vendors, gemini

SCENARIOS: list[Scenario] = [
    *chat_vendors.SCENARIOS,
    *chat_clients.SCENARIOS,
    *gemini.SCENARIOS,
]

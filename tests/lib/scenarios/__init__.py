"""The tables of scenarios. A new one is a module and a line here."""

from lab import Scenario
from scenarios import chat_vendors

SCENARIOS: list[Scenario] = [
    *chat_vendors.SCENARIOS,
]

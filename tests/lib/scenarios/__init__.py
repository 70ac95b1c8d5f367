"""The tables of scenarios. A new one is a module and a line here."""

from lab import Scenario

from scenarios import (
    chat_batches,
    chat_content,
    chat_ends,
    chat_gateways,
    chat_google,
    chat_openrouter,
    chat_owners,
    chat_places,
    chat_prose,
    gemini_batches,
    gemini_calls,
    gemini_streams,
    gemini_texts,
    messages_places,
    skip,
)

SCENARIOS: list[Scenario] = [
    *chat_openrouter.SCENARIOS,
    *chat_google.SCENARIOS,
    *chat_prose.SCENARIOS,
    *chat_content.SCENARIOS,
    *chat_gateways.SCENARIOS,
    *chat_ends.SCENARIOS,
    *chat_places.SCENARIOS,
    *chat_batches.SCENARIOS,
    *chat_owners.SCENARIOS,
    *gemini_calls.SCENARIOS,
    *gemini_texts.SCENARIOS,
    *gemini_streams.SCENARIOS,
    *gemini_batches.SCENARIOS,
    *messages_places.SCENARIOS,
    *skip.SCENARIOS,
]

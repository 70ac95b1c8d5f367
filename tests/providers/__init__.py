"""Strict providers: small loopback servers that refuse what the real ones refuse.

They are written from the providers' documentation and from recorded traffic, and share nothing with the code they
judge. `PROVIDERS` lists them; `serve` runs one:

    with serve("gemini", chunking="bytes") as provider:
        httpx.post(provider.url("plain"), json=…)
        provider.exchanges, provider.issued, provider.refusals, provider.skips

What they issue is random, and remembered, so that a wrong, altered, swapped, doubled or invented value is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from providers.anthropic import Anthropic, AnthropicBound, VertexAnthropic
from providers.compat import Databricks, GoogleCompat, VertexCompat
from providers.deepseek import DeepSeek
from providers.delivery import CHUNKINGS, Chunking, Delivery
from providers.dialect import Dialect, Mode, Reply
from providers.gemini import CodeAssist, Gemini
from providers.ledger import SKIP_VALUES, Issued, Ledger
from providers.openrouter import OpenRouterClaude, OpenRouterGemini
from providers.reasoning import OpenAIResponses, XaiResponses
from providers.refusal import Refusal
from providers.scenario import TASKS
from providers.server import LIFETIME, Exchange, Provider, Site, serving

#: Every provider by its name.
PROVIDERS: Mapping[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Gemini(),
        CodeAssist(),
        GoogleCompat(),
        VertexCompat(),
        OpenRouterGemini(),
        OpenRouterClaude(),
        Databricks(),
        DeepSeek(),
        Anthropic(),
        AnthropicBound(),
        VertexAnthropic(),
        OpenAIResponses(),
        XaiResponses(),
    )
}


@contextmanager
def serve(
    name: str,
    *,
    chunking: Chunking = "events",
    gzip: bool = False,
    seed: int = 0,
    stall: float = 0.0,
    hang: float = 0.0,
    lifetime: float = LIFETIME,
) -> Iterator[Provider]:
    """Run the provider of that name on a free loopback port. See `Delivery` for the options; times are in seconds."""
    delivery = Delivery(chunking, gzip, seed, stall, hang)
    with serving(Provider(PROVIDERS[name], delivery, seed), lifetime=lifetime) as provider:
        yield provider


__all__ = [
    "CHUNKINGS",
    "PROVIDERS",
    "SKIP_VALUES",
    "TASKS",
    "Chunking",
    "Delivery",
    "Dialect",
    "Exchange",
    "Issued",
    "Ledger",
    "Mode",
    "Provider",
    "Refusal",
    "Reply",
    "Site",
    "serve",
    "serving",
]

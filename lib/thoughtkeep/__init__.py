"""Keeps an LLM agent's reasoning state: the translation logic, without I/O and without mitmproxy."""

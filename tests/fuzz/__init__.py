"""Fuzzing: what is fed, what must hold, and how it is run. See docs/fuzzing.md."""

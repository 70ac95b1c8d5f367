"""Handover: when a conversation moves to another model, a summary and the latest user turn in place of the history."""

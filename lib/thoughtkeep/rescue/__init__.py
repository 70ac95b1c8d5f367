"""Rescue: what a refusal says of lost or refused state, and the repaired request that is sent once more."""

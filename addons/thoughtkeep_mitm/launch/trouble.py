"""What ends a launch: one sentence for people, and the exit status that goes with it."""

# The wrapper itself failed (as env, nohup and timeout have it), could not run the command, did not find it.
USAGE, FAILED, NOT_RUNNABLE, NOT_FOUND = 2, 125, 126, 127


class Trouble(Exception):
    """Raised with a sentence that needs no stack trace."""

    def __init__(self, words: str, status: int = FAILED) -> None:
        super().__init__(words)
        self.status = status

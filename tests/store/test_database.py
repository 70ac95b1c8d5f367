"""The tables of a file: whose turns rows are is kept at hand, and never that of another conversation."""

import sqlite3
from contextlib import closing

import pytest

from thoughtkeep_store import database, forgetting, opening, records, shelf

from .kit import Backend, kept


def _database(file: Backend) -> database.Database:
    connection, key = opening.open_file(file.path)
    return database.Database(connection, key, print)


def _row(id_: str, root: str, used: float):
    turn = kept(id_, root=root, lineage=id_)
    return shelf.Entry(turn, used, (turn.made, 1), 1), records.encode(turn)


def _uses(data: database.Database) -> list[float]:
    return [used for (used,) in data.connection.execute("SELECT used FROM conversation ORDER BY used")]


def test_whose_turn_it_is_is_looked_up_once(file: Backend):
    data = _database(file)
    with closing(data.connection):
        data.write([_row("a", "r", 1.0), _row("b", "r", 1.0)], {})
        data.write([], {"a": 2.0, "b": 3.0, "unknown": 4.0})
        asked = []
        data.connection.set_trace_callback(asked.append)
        data.write([], {"a": 5.0, "b": 4.0})
        assert not [query for query in asked if "FROM turn" in query]
        assert _uses(data) == [5.0]


@pytest.mark.parametrize("by", ["itself", "another"])
def test_a_conversation_that_has_the_number_of_one_that_went_is_not_used_in_its_stead(file: Backend, by: str):
    data, other = _database(file), _database(file)
    with closing(data.connection), closing(other.connection):
        data.write([_row("gone", "r", 1.0)], {})
        data.write([], {"gone": 2.0})
        who = data if by == "itself" else other
        with who.transaction("IMMEDIATE"):
            who.remove(who.rows(forgetting.OneTurn("gone"), forgetting.UNMET))
        who.write([_row("new", "s", 3.0)], {})
        data.write([], {"gone": 9.0})
        assert _uses(data) == [3.0]


def test_what_a_write_that_failed_had_learned_is_forgotten(file: Backend, monkeypatch):
    data = _database(file)
    with closing(data.connection):
        touch = data._touch

        def failing(touched):
            touch(touched)
            raise sqlite3.OperationalError("disk I/O error")

        monkeypatch.setattr(data, "_touch", failing)
        with pytest.raises(sqlite3.OperationalError):
            data.write([_row("lost", "r", 1.0)], {"lost": 2.0})
        monkeypatch.undo()
        data.write([_row("new", "s", 3.0)], {})
        data.write([], {"lost": 9.0})
        assert _uses(data) == [3.0]


def test_of_very_many_turns_it_is_not_kept_whose_they_are(file: Backend, monkeypatch):
    monkeypatch.setattr(database, "CACHED_HOMES", 3)
    data = _database(file)
    with closing(data.connection):
        data.write([_row(f"t{n}", str(n), 1.0) for n in range(12)], {})
        for n in range(12):
            data.write([], {f"t{n}": 2.0})
            assert len(data._homes) <= 4
        assert _uses(data) == [2.0] * 12

"""What pgbench runs: the floor's pairs of durable transactions, and the engine's.

One run of a script is one pair, so pgbench's rate is pairs a second.
"""

from typing import Final

from benchmarks import load

MANY: Final = 100
"""How many limits the row with many limits spreads over."""

FLOOR_TABLES: Final = """
    CREATE TABLE public.floor_row (id bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE TABLE public.floor_counter (id integer PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 10);
    INSERT INTO public.floor_counter VALUES (1, 0);
"""

F1: Final = """
INSERT INTO public.floor_row DEFAULT VALUES RETURNING id \\gset
DELETE FROM public.floor_row WHERE id = :id;
"""

F2_HOT: Final = """
WITH counted AS (UPDATE public.floor_counter SET n = n + 1 WHERE id = 1)
    INSERT INTO public.floor_row DEFAULT VALUES RETURNING id \\gset
WITH counted AS (UPDATE public.floor_counter SET n = n - 1 WHERE id = 1)
    DELETE FROM public.floor_row WHERE id = :id;
"""

INSERT: Final = """
INSERT INTO public.floor_row DEFAULT VALUES;
"""

_REQUEST: Final = """
\\set n random(1, 1000000000000)
SELECT slot_id AS {slot} FROM limits.request(
    {limit}, ('k' || :n)::text, NULL::text, 86400000::bigint, NULL::text, NULL::text, NULL::integer
) \\gset
"""

_RELEASE: Final = """
SELECT released FROM limits.release(
    :{slot}::uuid, 'k'::text, 'bench'::text, 'client'::text, NULL::text, false
) \\gset
"""


def pair(limit: str) -> str:
    """Acquire a slot that is free, and release it."""
    return _REQUEST.format(limit=f"'{limit}'::text", slot="mine") + _RELEASE.format(slot="mine")


def pair_on_many() -> str:
    """Acquire and release on one of many limits, another one each time."""
    limit = "('many-' || :m)::text"
    return f"\\set m random(0, {MANY - 1})" + _REQUEST.format(limit=limit, slot="mine") + _RELEASE.format(slot="mine")


def handed_on(limit: str) -> str:
    """Queue up behind `held`, release that one, and confirm what was granted: the head of a queue of one."""
    return (
        _REQUEST.format(limit=f"'{limit}'::text", slot="mine")
        + _RELEASE.format(slot="held")
        + "SELECT outcome, :mine::uuid AS held FROM limits.confirm(:mine::uuid) \\gset\n"
    )


def handed_to_head(limit: str, limit_id: int) -> str:
    """Queue up behind a loaded queue, release `held`, and confirm the head, the loaded slot of number `head`."""
    head = load.ID.format(limit=f"{limit_id}", number=":head::bigint")
    return (
        _REQUEST.format(limit=f"'{limit}'::text", slot="mine")
        + _RELEASE.format(slot="held")
        + f"SELECT outcome, {head} AS held FROM limits.confirm({head}) \\gset\n"
        + "\\set head :head + 1\n"
    )

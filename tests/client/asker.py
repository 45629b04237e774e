"""A program that takes one slot with the plain client: what it does stands on its standard output, line by line.

    python -m tests.client.asker <limit> <label> <timeout in ms> [<key>]

`asking`, then `held <slot id>`, `timed out` or `interrupted`. While it holds, a line on standard input makes it
release and leave.
"""

import sys

from stackbone.client import Client, SlotTimeoutError


def main() -> None:
    limit, label, timeout, *rest = sys.argv[1:]
    with Client() as client:
        print("asking", flush=True)
        try:
            slot = client.acquire(limit, label=label, timeout=int(timeout), key=rest[0] if rest else None)
        except SlotTimeoutError:
            print("timed out", flush=True)
            return
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            return
        print("held", slot.id, flush=True)
        sys.stdin.readline()
        print("released", slot.release().released, flush=True)


if __name__ == "__main__":
    main()

"""Run a command under another user's id; a script of its own: `python -I -S unprivileged.py UID GID OPEN COMMAND…`.

PostgreSQL refuses to run as root, so root starts it through this under an ordinary user. Where that user could not
reach the files because a folder above them is closed to it (`/root` usually is), OPEN is 1: the command then keeps
one right of root's, to pass by file permissions (CAP_DAC_OVERRIDE, Linux only), and no folder has to be opened up
for everybody. Whoever may talk to that server is root already.
"""

import ctypes
import os
import sys

_PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 28, 47, 2
# Without it access(2) ignores the right kept, and PostgreSQL looks for its own files with access(2).
_NO_SETUID_FIXUP = 1 << 2
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION = 0x20080522


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _must(outcome: int, what: str) -> None:
    if outcome != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _keep_only_dac_override(libc: ctypes.CDLL) -> None:
    bit = 1 << _CAP_DAC_OVERRIDE
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    # Effective, permitted, inheritable; the second three are the capabilities above 31.
    sets = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
    _must(libc.capset(header, sets), "capset")
    raised = libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)
    _must(raised, "prctl(PR_CAP_AMBIENT)")


def main(arguments: list[str]) -> None:
    """Become the user and run the command in this process's place."""
    uid, gid, keep = (int(text) for text in arguments[:3])
    if keep:
        _must(
            _libc().prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, 0, 0, 0),
            "prctl(PR_SET_SECUREBITS)",
        )
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if keep:
        _keep_only_dac_override(_libc())
    os.execv(arguments[3], arguments[3:])


if __name__ == "__main__":
    main(sys.argv[1:])

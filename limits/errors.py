"""What can go wrong. The docstring of an error is its default message."""

import builtins
from collections.abc import Sequence
from typing import Self


class LimitsError(Exception):
    """Something about a limit went wrong."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)


class InvalidValueError(LimitsError):
    """A value was refused."""

    def __init__(self, where: str, problem: str, code: str = "refused") -> None:
        """Name `where` (object and field, like `limits["a"].capacity`) and the `problem` with value and bound.

        `code` names the kind of fault, for a form with words of its own; its values stand with what raises it.
        """
        self.where = where
        self.problem = problem
        self.code = code
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        return type(self), (self.where, self.problem, self.code)


class UnknownLimitError(LimitsError):
    """There is no such limit."""

    def __init__(self, name: str, near: Sequence[str] = (), *, declared: bool = True) -> None:
        """Name the limit and near matches; `declared=False` says it exists but is no longer in the config."""
        self.name = name
        self.near = tuple(near)
        self.declared = declared
        message = f"limit {name!r} is not declared in stackbone_config.py"
        if not declared:
            message = f"limit {name!r} is no longer declared in stackbone_config.py"
        if near:
            message += f"; did you mean {' or '.join(repr(n) for n in near)}?"
        super().__init__(message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, self.near), {"declared": self.declared}


class ChangedMeanwhileError(LimitsError):
    """The value was changed by somebody else meanwhile."""

    def __init__(self, limit: str, field: str, *, seen: int, current: int) -> None:
        """`seen` is the effective value the person saw, `current` the one in force now."""
        self.limit = limit
        self.field = field
        self.seen = seen
        self.current = current
        super().__init__(f"{limit}: {field} changed meanwhile, from {seen} to {current}")


class WorkspaceMismatchError(LimitsError):
    """The database belongs to another workspace."""


class BoxUnreachableError(LimitsError):
    """The box's database does not answer."""


class BoxBusyError(BoxUnreachableError):
    """The box was too busy to answer in time, or another session keeps the limit locked; nothing was changed."""


class NotMigratedError(LimitsError):
    """The database has no Stackbone tables yet, or older ones; run `stackbone migrate`."""


class InTransactionError(LimitsError):
    """An engine call is a transaction of its own and can't run inside another one."""


class ProcessGoneError(LimitsError):
    """The process was taken for gone; it has to join the box anew before it queues."""


class IdentityTakenError(LimitsError):
    """Another process runs under the identity of a worker."""

    def __init__(self, name: str) -> None:
        """`name` is the worker's identity."""
        self.name = name
        super().__init__(f"another process runs as worker {name!r}; choose another --name")

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.name,)


class SlotTimeoutError(LimitsError):
    """No slot became free in time."""

    def __init__(self, limiter: str, timeout: int) -> None:
        """`limiter` is the limit's name, `timeout` the wait in whole milliseconds."""
        self.limiter = limiter
        self.timeout = timeout
        super().__init__(f"no slot of limit {limiter!r} became free within {timeout} ms")

    @property
    def data(self) -> dict[str, object]:
        """What it carries, as JSON: a runtime records it beside the message."""
        return {"limiter": self.limiter, "timeout": self.timeout}

    def __reduce__(self) -> tuple[type[Self], tuple[str, int]]:
        return type(self), (self.limiter, self.timeout)

    @staticmethod
    def is_(error: object) -> bool:
        """Recognise the error across module copies and after serialisation; false for anything else.

        Another copy's class is another class: it is known by its name and by what it carries.
        """
        if not any(klass.__name__ == "SlotTimeoutError" for klass in builtins.type(error).__mro__):
            return False
        carried = getattr(error, "__dict__", {})
        return isinstance(error, Exception) and "limiter" in carried and "timeout" in carried

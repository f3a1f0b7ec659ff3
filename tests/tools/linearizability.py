"""Decides whether a history of concurrent operations is linearizable: whether each operation can be given one moment
between its call and its return, so that in the order of these moments every answer is right.

The algorithm is the one of Porcupine: Wing and Gong's search with Lowe's memory of what was tried (the set of
operations already placed, and the state they lead to), history by history for keys that do not touch each other
(P-compositionality). Models may be nondeterministic; as in Porcupine, the search then follows sets of states.

An operation whose outcome is not known has the output UNKNOWN. It may have happened or not: at any time after its call
if `returned` is None, else until then (a server that was killed does nothing after its death).
"""

import collections
import time
from typing import Any, NamedTuple, Optional

UNKNOWN = "unknown outcome"
REFUSED = "refused"
NEVER = float("inf")


class Operation(NamedTuple):
    client: Any
    key: Any
    input: tuple
    output: Any
    called: float
    returned: Optional[float]


class Result(NamedTuple):
    verdict: str  # "ok", "illegal", or "undecided" when the time was over
    key: Any = None
    placed: list = ()  # the longest order found, for the key that has none that is complete
    pending: list = ()  # what could have come next and did not fit

    def __bool__(self):
        return self.verdict == "ok"


class ItemModel:
    """One item of a table: absent (None), or a value and a counter of which either may be missing.

    input                       answer
    ("get",)                    the item
    ("put", value)              the item before
    ("put_if", expected, value) the item before, or (REFUSED, item); expected None wants no item, else its value
    ("add", n)                  the counter after
    ("delete",)                 the item before

    An output of ANY stands for success without an answer.
    """

    ANY = "done"
    INITIAL = (None,)

    @staticmethod
    def effect(state, action):
        """The state after an operation, and what it answers."""
        kind = action[0]
        if kind == "get":
            return state, state
        if kind == "put":
            return (action[1], None), state
        if kind == "put_if":
            expected, value = action[1:]
            holds = state is None if expected is None else state is not None and state[0] == expected
            return ((value, None), state) if holds else (state, (REFUSED, state))
        if kind == "add":
            value, count = state or (None, None)
            return (value, (count or 0) + action[1]), (count or 0) + action[1]
        assert kind == "delete", action
        return None, state

    def step(self, state, action, output):
        """Every state that may follow; none if the output is not possible."""
        after, answer = self.effect(state, action)
        if output == UNKNOWN:
            return (state,) if after == state else (state, after)
        refused = isinstance(answer, tuple) and answer[0] == REFUSED
        fits = not refused if output == self.ANY else output == answer
        return (after,) if fits else ()


class _Entry:
    """A call or a return, in a list ordered by time. `match` of a call is its return."""

    __slots__ = ("operation", "number", "match", "before", "after")

    def __init__(self, operation, number):
        self.operation, self.number = operation, number
        self.match = self.before = self.after = None


def _entries(operations):
    events = []
    for number, operation in enumerate(operations):
        call, end = _Entry(operation, number), _Entry(None, number)
        call.match = end
        returned = NEVER if operation.returned is None else operation.returned
        assert operation.called <= returned, operation
        # At one moment calls come before returns: operations that touch count as concurrent.
        events.append((operation.called, 0, number, call))
        events.append((returned, 1, number, end))
    events.sort(key=lambda event: event[:3])
    head = last = _Entry(None, -1)
    for *_, entry in events:
        last.after, entry.before = entry, last
        last = entry
    return head


def _lift(call):
    """Takes a call and its return out of the list; their own links stay, so that _unlift can put them back."""
    call.before.after = call.after
    call.after.before = call.before
    end = call.match
    end.before.after = end.after
    if end.after is not None:
        end.after.before = end.before


def _unlift(call):
    end = call.match
    end.before.after = end
    if end.after is not None:
        end.after.before = end
    call.before.after = call
    call.after.before = call


def _check_one(model, key, operations, deadline):
    head = _entries(operations)
    # Operations that never return may also never have happened: they need no place.
    unplaced = sum(operation.returned is not None for operation in operations)
    placed, states = 0, frozenset(model.INITIAL)
    tried = set()
    path = []  # (entry, states before it)
    longest, stuck = [], []
    entry = head.after
    while unplaced:
        if time.monotonic() > deadline:
            return Result("undecided", key, longest, stuck)
        if entry is not None and entry.match is not None:
            operation = entry.operation
            following = frozenset(after for state in states
                                  for after in model.step(state, operation.input, operation.output))
            position = (placed | 1 << entry.number, following)
            if following and position not in tried:
                tried.add(position)
                path.append((entry, states))
                placed, states = position
                unplaced -= operation.returned is not None
                _lift(entry)
                entry = head.after
            else:
                entry = entry.after
            continue
        # A return: what is called later cannot come before it, so one of the calls already placed is wrong.
        if len(path) >= len(longest):
            longest, stuck = [one.operation for one, _ in path], _calls_until(head, entry)
        if not path:
            return Result("illegal", key, longest, stuck)
        entry, states = path.pop()
        placed &= ~(1 << entry.number)
        unplaced += entry.operation.returned is not None
        _unlift(entry)
        entry = entry.after
    return Result("ok")


def _calls_until(head, end):
    calls, entry = [], head.after
    while entry is not end:
        calls.append(entry.operation)
        entry = entry.after
    return calls


def check(operations, model=ItemModel(), timeout_s=60):
    """The verdict on a history. Keys are independent, so each has its own search."""
    deadline = time.monotonic() + timeout_s
    by_key = collections.defaultdict(list)
    for operation in operations:
        by_key[operation.key].append(operation)
    undecided = None
    for key, history in by_key.items():
        result = _check_one(model, key, history, deadline)
        if result.verdict == "illegal":
            return result
        if result.verdict == "undecided" and undecided is None:
            undecided = result
    return Result("ok") if undecided is None else undecided


def explain(result, tail=12):
    """What a reader needs to see why: the end of the longest order, and what did not fit after it."""
    lines = [f"{result.verdict}: key {result.key!r}, {len(result.placed)} operations placed; the last of them:"]
    for title, operations in (("", result.placed[-tail:]), ("none of these can be next:", result.pending)):
        if title:
            lines.append(title)
        for operation in operations:
            lines.append(f"  {operation.client} {operation.called}..{operation.returned}: "
                         f"{operation.input} -> {operation.output}")
    return "\n".join(lines)

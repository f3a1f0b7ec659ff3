"""Looks for anomalies in histories of transactions that append unique values to lists and read them.

The algorithm is Elle's for list-append. A list shows the order of all writes to it, so the longest read of each key is
the order of its versions, and from it follow the dependencies between transactions: write-write (ww), write-read (wr),
read-write (rw, the reader did not see the write), and real time (rt, one ended before the other began). A cycle of
dependencies is an anomaly, named by the edges it needs (Adya):

    G0             ww alone: writes interleave
    G1c            ww and wr: information flows in a circle
    G-single       exactly one rw (read skew); with rt edges: a stale read
    G-nonadjacent  several rw, no two of them in a row: forbidden by snapshot isolation too
    G2-item        rw in a row (write skew)

each with "-realtime" if it exists only together with real time: serializable, but not strictly. Found without cycles:

    G1a                 a read of a value of a transaction that failed
    G1b                 a read of a transaction's intermediate value
    dirty-update        a value written over one of a transaction that failed
    internal            a transaction does not see its own writes or reads
    lost-update         two transactions read the same version and both wrote the next
    duplicate-elements  a list holds a value twice
    incompatible-order  two reads of which neither is a prefix of the other
    garbage-read        a value that nobody wrote

A transaction of unknown outcome counts as committed once any of its values is seen: then all must be.
"""

import collections
from typing import Any, NamedTuple, Optional

OK, FAILED, UNKNOWN = "ok", "failed", "unknown"
RANK = ("ww", "wr", "rw", "rt")


class Transaction(NamedTuple):
    """operations: ("append", key, value) and ("read", key, list); the list is None if no answer came."""

    process: Any
    operations: tuple
    outcome: str
    called: float
    returned: Optional[float]


class Anomaly(NamedTuple):
    kind: str
    what: Any

    def __str__(self):
        if self.kind[0] == "G" and isinstance(self.what, Cycle):
            return f"{self.kind}:\n{self.what}"
        return f"{self.kind}: {self.what}"


class Cycle(NamedTuple):
    steps: list  # (transaction, kind of the edge to the next)

    def __str__(self):
        return "\n".join(f"  {transaction}\n    --{edge}-->" for transaction, edge in self.steps)


class _History:
    """The transactions that count, who wrote what, and the order of the versions of each key."""

    def __init__(self, transactions):
        self.writer = {}  # (key, value) -> number of the transaction
        self.last_of = {}  # (key, number) -> the last value that this transaction appends to the key
        self.transactions = list(transactions)
        for number, transaction in enumerate(self.transactions):
            for kind, key, value in transaction.operations:
                if kind == "append":
                    assert (key, value) not in self.writer, f"{value} is appended to {key} twice: the test is wrong"
                    self.writer[key, value] = number
                    self.last_of[key, number] = value
        self.committed = self._committed()

    def reads(self):
        """Every list that was seen: transaction, its number, key, list."""
        for number, transaction in enumerate(self.transactions):
            if transaction.outcome == OK:
                for kind, key, value in transaction.operations:
                    if kind == "read" and value is not None:
                        yield transaction, number, key, value

    def _committed(self):
        committed = {number for number, one in enumerate(self.transactions) if one.outcome == OK}
        for _, _, key, values in self.reads():
            for value in values:
                number = self.writer.get((key, value))
                if number is not None and self.transactions[number].outcome == UNKNOWN:
                    committed.add(number)
        return committed


def _internal(history):
    """Within a transaction a read shows the last read of the key, and then what was appended since."""
    for transaction in history.transactions:
        if transaction.outcome != OK:
            continue
        known, appended = {}, collections.defaultdict(list)
        for kind, key, value in transaction.operations:
            if kind == "append":
                appended[key].append(value)
                continue
            if value is None:
                continue
            own = appended[key]
            right = value == known[key] + own if key in known else not own or value[-len(own):] == own
            if not right:
                yield Anomaly("internal", (key, transaction))
            known[key], appended[key] = list(value), []


def _dirty(history):
    for transaction, number, key, values in history.reads():
        failed_before = None
        for value in values:
            writer = history.writer.get((key, value))
            if writer is None:
                yield Anomaly("garbage-read", (key, value, transaction))
                continue
            if history.transactions[writer].outcome == FAILED:
                yield Anomaly("G1a", (key, value, transaction, history.transactions[writer]))
                failed_before = value
            elif failed_before is not None:
                yield Anomaly("dirty-update", (key, failed_before, value, transaction))
                failed_before = None
        if values:
            writer = history.writer.get((key, values[-1]))
            if writer not in (None, number) and history.last_of[key, writer] != values[-1]:
                yield Anomaly("G1b", (key, values[-1], transaction, history.transactions[writer]))


def _lost_updates(history):
    groups = collections.defaultdict(list)
    for transaction in history.transactions:
        if transaction.outcome != OK:
            continue
        seen, written = {}, set()
        for kind, key, value in transaction.operations:
            if kind == "append":
                written.add(key)
            elif key not in written and value is not None:
                seen.setdefault(key, tuple(value))
        for key in written & seen.keys():
            groups[key, seen[key]].append(transaction)
    for (key, _), group in groups.items():
        if len(group) > 1:
            yield Anomaly("lost-update", (key, group))


def _version_orders(history, anomalies):
    longest = {}
    for transaction, _, key, values in history.reads():
        if len(set(values)) < len(values):
            anomalies.append(Anomaly("duplicate-elements", (key, values, transaction)))
        if len(values) > len(longest.get(key, ())):
            longest[key] = values
    for transaction, _, key, values in history.reads():
        if values != longest.get(key, [])[:len(values)]:
            anomalies.append(Anomaly("incompatible-order", (key, values, longest[key], transaction)))
    return longest


def _dependencies(history, orders):
    """Edges between committed transactions: {from: {to: kind}}, the strongest kind where there are several."""
    graph = collections.defaultdict(dict)

    def edge(source, target, kind):
        if source == target or source not in history.committed or target not in history.committed:
            return
        known = graph[source].get(target)
        if known is None or RANK.index(kind) < RANK.index(known):
            graph[source][target] = kind

    next_writers = {}  # (key, number of values seen) -> who wrote next
    unseen = collections.defaultdict(list)
    for (key, value), writer in history.writer.items():
        if value not in orders.get(key, ()) and writer in history.committed:
            unseen[key].append(writer)
    for key in orders.keys() | unseen.keys():
        order = orders.get(key, [])
        writers = [history.writer.get((key, value)) for value in order]
        for i, writer in enumerate(writers):
            next_writers[key, i] = [writer]
            if i and writer is not None and writers[i - 1] is not None:
                edge(writers[i - 1], writer, "ww")
        # What was committed and never seen comes after everything that was, in an order of which nothing is known.
        next_writers[key, len(order)] = unseen[key]
        if order and writers[-1] is not None:
            for writer in unseen[key]:
                edge(writers[-1], writer, "ww")
    for _, number, key, values in history.reads():
        if values != orders.get(key, [])[:len(values)]:
            continue
        if values and (key, values[-1]) in history.writer:
            edge(history.writer[key, values[-1]], number, "wr")
        for writer in next_writers.get((key, len(values)), ()):
            if writer is not None:
                edge(number, writer, "rw")
    return graph


def _add_real_time(history, graph):
    """Edges of real time, as few as imply all of them: from those that ended last to those that begin next."""
    events = []
    for number in history.committed:
        transaction = history.transactions[number]
        events.append((transaction.called, 0, number))
        if transaction.outcome == OK:
            events.append((transaction.returned, 1, number))
    ended, before = set(), {}
    for _, is_end, number in sorted(events):
        if is_end:
            ended -= before.pop(number)
            ended.add(number)
            continue
        before[number] = set(ended)
        for earlier in ended:
            graph[earlier].setdefault(number, "rt")


def _components(graph, kinds):
    """Tarjan's strongly connected components of more than one transaction, over edges of the given kinds."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []

    def neighbours(node):
        return iter([target for target, kind in graph.get(node, {}).items() if kind in kinds])

    for root in list(graph):
        if root in index:
            continue
        work = [(root, neighbours(root))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            target = next(rest, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = set()
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.add(member)
                        if member == node:
                            break
                    if len(component) > 1:
                        found.append(component)
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                work.append((target, neighbours(target)))
            elif target in on_stack:
                low[node] = min(low[node], index[target])
    return found


def _path(graph, source, target, component, allowed):
    """The shortest way as a list of (node, kind), or None. allowed(kind before, kind) says which edge may follow."""
    start = (source, None)
    came = {start: None}
    queue = collections.deque([start])
    while queue:
        here = queue.popleft()
        node, last = here
        if node == target and allowed(last, None):
            way = []
            while came[here] is not None:
                previous = came[here]
                way.append((previous[0], here[1]))
                here = previous
            return way[::-1]
        for following, kind in graph.get(node, {}).items():
            step = (following, kind)
            if following in component and step not in came and kind is not None and allowed(last, kind):
                came[step] = here
                queue.append(step)
    return None


def _cycle_through(graph, component, first, allowed):
    """A cycle that starts with an edge of the kind `first` and goes on as allowed."""
    for source in component:
        for target, kind in graph.get(source, {}).items():
            if kind == first and target in component:
                way = _path(graph, target, source, component, allowed)
                if way is not None:
                    return [(source, kind), *way]
    return None


# What each anomaly is looked for with: the edge it starts with, the kinds of its edges, and which edge may follow
# which (None: before the first and after the last). An anomaly is only looked for where none before it was found.
def _searches(real_time):
    free = {"ww", "wr"} | ({"rt"} if real_time else set())
    return (
        ("G0", "ww", free - {"wr"}, lambda _, kind: kind in (None, *(free - {"wr"}))),
        ("G1c", "wr", free, lambda _, kind: kind in (None, *free)),
        ("G-single", "rw", free | {"rw"}, lambda _, kind: kind in (None, *free)),
        # The first edge is rw, so neither its successor nor the last one, its predecessor, may be one.
        ("G-nonadjacent", "rw", free | {"rw"},
         lambda last, kind: (last in free if kind is None else kind in free or (kind == "rw" and last in free))),
        ("G2-item", "rw", free | {"rw"}, lambda _, kind: kind in (None, "rw", *free)),
    )


def _cycles(history, graph, real_time):
    suffix = "-realtime" if real_time else ""
    seen = []
    for name, first, kinds, allowed in _searches(real_time):
        for component in _components(graph, kinds):
            if any(known <= component for known in seen):
                continue
            cycle = _cycle_through(graph, component, first, allowed)
            if cycle is None:
                continue
            seen.append({number for number, _ in cycle})
            plain = all(kind != "rt" for _, kind in cycle)
            yield Anomaly(name + ("" if plain else suffix),
                          Cycle([(history.transactions[number], kind) for number, kind in cycle]))


def check(transactions):
    """Every kind of anomaly found, with at least one example each; an empty list for a strictly serializable one."""
    history = _History(transactions)
    anomalies = [*_internal(history), *_dirty(history), *_lost_updates(history)]
    orders = _version_orders(history, anomalies)
    graph = _dependencies(history, orders)
    cycles = list(_cycles(history, graph, real_time=False))
    if not cycles:
        _add_real_time(history, graph)
        cycles = list(_cycles(history, graph, real_time=True))
    return anomalies + cycles

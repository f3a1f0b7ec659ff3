"""The checker of tests/tools/serializability.py on histories that show one anomaly each, and on good ones."""

import random

import pytest
from serializability import FAILED, OK, UNKNOWN, Transaction, check


def a(key, value):
    return "append", key, value


def r(key, *values):
    return "read", key, list(values)


def history(*transactions):
    """Transactions that all overlap, so that real time says nothing."""
    return [Transaction(process, tuple(operations), outcome, 0, None if outcome == UNKNOWN else 100)
            for process, (outcome, *operations) in enumerate(transactions)]


def in_turn(*transactions):
    return [Transaction(i, tuple(operations), outcome, 2 * i, None if outcome == UNKNOWN else 2 * i + 1)
            for i, (outcome, *operations) in enumerate(transactions)]


GOOD = {
    "nothing": [],
    "one after the other": in_turn((OK, a("x", 1)), (OK, r("x", 1), a("x", 2)), (OK, r("x", 1, 2))),
    "its own writes": history((OK, a("x", 1), r("x", 1), a("x", 2), r("x", 1, 2))),
    "a read between two writers": history((OK, a("x", 1)), (OK, a("x", 2)), (OK, r("x", 1)), (OK, r("x", 1, 2))),
    "a failed write that nobody sees": in_turn((FAILED, a("x", 1)), (OK, r("x"))),
    "an unknown write that happened": in_turn((UNKNOWN, a("x", 1), a("y", 1)), (OK, r("x", 1), r("y", 1))),
    "an unknown write that did not happen": in_turn((UNKNOWN, a("x", 1), a("y", 1)), (OK, r("x"), r("y"))),
    "an unknown write that happens later": in_turn((UNKNOWN, a("x", 1)), (OK, r("x")), (OK, r("x", 1))),
    "serializable in another order than they overlap": history(
        (OK, a("x", 1), r("y")), (OK, a("y", 1), r("x", 1))),
    "the last write is seen by nobody": in_turn((OK, a("x", 1)), (OK, r("x", 1)), (OK, a("x", 2))),
}

BAD = {
    "G0": history((OK, a("x", 1), a("y", 1)), (OK, a("x", 2), a("y", 2)), (OK, r("x", 1, 2)), (OK, r("y", 2, 1))),
    "G1a": history((FAILED, a("x", 1)), (OK, r("x", 1))),
    "G1b": history((OK, a("x", 1), a("x", 2)), (OK, r("x", 1)), (OK, r("x", 1, 2))),
    "G1c": history((OK, a("x", 1), r("y", 1)), (OK, a("y", 1), r("x", 1))),
    "dirty-update": history((FAILED, a("x", 1)), (OK, a("x", 2)), (OK, r("x", 1, 2))),
    "internal": history((OK, a("x", 1), r("x"))),
    "lost-update": history((OK, r("x"), a("x", 1)), (OK, r("x"), a("x", 2)), (OK, r("x", 1, 2))),
    "duplicate-elements": history((OK, a("x", 1)), (OK, r("x", 1, 1))),
    "incompatible-order": history((OK, a("x", 1)), (OK, a("x", 2)), (OK, r("x", 1, 2)), (OK, r("x", 2))),
    "garbage-read": history((OK, r("x", 7))),
    # A read that sees one of two writes of a transaction.
    "G-single": history((OK, a("x", 1), a("y", 1)), (OK, r("x", 1), r("y")), (OK, r("y", 1))),
    # Two readers see two independent writes in opposite orders.
    "G-nonadjacent": history((OK, a("x", 1)), (OK, a("y", 1)), (OK, r("x", 1), r("y")), (OK, r("x"), r("y", 1)),
                             (OK, r("x", 1), r("y", 1))),
    "G2-item": history((OK, r("x"), a("y", 1)), (OK, r("y"), a("x", 1)), (OK, r("x", 1), r("y", 1))),
    "G0-realtime": [*in_turn((OK, a("x", 1)), (OK, a("x", 2))), *history((OK, r("x", 2, 1)))],
    "G1c-realtime": in_turn((OK, r("x", 1)), (OK, a("x", 1))),
    "G-single-realtime": in_turn((OK, a("x", 1)), (OK, r("x")), (OK, r("x", 1))),
}


@pytest.mark.parametrize("transactions", GOOD.values(), ids=GOOD)
def test_good_histories_pass(transactions):
    assert not [str(anomaly) for anomaly in check(transactions)]


@pytest.mark.parametrize("kind", BAD)
def test_bad_histories_are_named(kind):
    found = check(BAD[kind])
    assert kind in {anomaly.kind for anomaly in found}, [str(anomaly) for anomaly in found]
    # The anomalies that need no cycle bring some with them; a cycle is named once.
    cycles = {anomaly.kind for anomaly in found if anomaly.kind[:2] in ("G0", "G-", "G2") or "G1c" in anomaly.kind}
    assert cycles <= {kind} or kind in ("lost-update", "G1b")


def kinds(transactions):
    return {anomaly.kind for anomaly in check(transactions)}


def test_an_acknowledged_append_that_nobody_finds_any_more():
    assert kinds(in_turn((OK, a("x", 1)), (OK, a("x", 2)), (OK, r("x", 1)))) == {"G-single-realtime"}


def test_half_of_a_transaction_of_unknown_outcome():
    assert kinds(in_turn((UNKNOWN, a("x", 1), a("y", 1)), (OK, r("x", 1), r("y")))) == {"G-single"}


def test_a_value_that_is_seen_and_then_gone():
    assert "G-single-realtime" in kinds(in_turn((UNKNOWN, a("x", 1)), (OK, r("x", 1)), (OK, r("x"))))


def test_a_circle_of_three_writers():
    assert kinds(history(
        (OK, a("x", 1), a("y", 2)), (OK, a("y", 1), a("z", 2)), (OK, a("z", 1), a("x", 2)),
        (OK, r("x", 2, 1)), (OK, r("y", 2, 1)), (OK, r("z", 2, 1)))) == {"G0"}


class Simulation:
    """Runs transactions one by one against lists in memory, within overlapping intervals: strictly serializable, as
    long as `bug` does not break it."""

    def __init__(self, seed, bug=None):
        self.chance, self.bug = random.Random(seed), bug
        self.lists = {key: [] for key in "uvwxyz"}
        self.next = 0
        self.transactions = []

    def _run(self, start):
        chance, done, outcome = self.chance, [], chance_of_loss(self.chance)
        applied = outcome != FAILED and (outcome == OK or chance.random() < 0.5)
        lists = {key: list(values) for key, values in self.lists.items()}
        keys = [chance.choice("uvwxyz") for _ in range(chance.randint(1, 4))]
        stale = self.bug == "stale" and chance.random() < 0.05
        for key in keys:
            if chance.random() < 0.5:
                done.append(("read", key, lists[key][:-1] if stale else list(lists[key])))
            else:
                self.next += 1
                lists[key].append(self.next)
                done.append(("append", key, self.next))
        if applied:
            if self.bug == "lost" and chance.random() < 0.05:
                lists[chance.choice(keys)] = self.lists[chance.choice(keys)]
            self.lists = lists
        elif self.bug == "torn" and outcome == UNKNOWN:
            self.lists[keys[0]] = lists[keys[0]]
        if outcome != OK:
            done = [(kind, key, None if kind == "read" else value) for kind, key, value in done]
        self.transactions.append(Transaction(len(self.transactions), tuple(done), outcome, start - chance.random() * 3,
                                             None if outcome == UNKNOWN else start + chance.random() * 3))

    def run(self, count):
        for moment in range(count):
            self._run(moment)
        self.transactions.append(Transaction(
            "last", tuple(("read", key, values) for key, values in self.lists.items()), OK, count + 10, count + 11))
        return self.transactions


def chance_of_loss(chance):
    return chance.choices((OK, FAILED, UNKNOWN), (10, 1, 1))[0]


@pytest.mark.parametrize("seed", range(20))
def test_what_really_happened_passes(seed):
    assert not [str(anomaly) for anomaly in check(Simulation(seed).run(400))]


@pytest.mark.parametrize("bug", ["stale", "lost", "torn"])
def test_a_store_with_a_bug_is_found_out(bug):
    found = sum(bool(check(Simulation(seed, bug).run(200))) for seed in range(20))
    assert found >= 15

"""The checker of tests/tools/linearizability.py on histories whose verdict is known."""

import itertools
import random

import pytest
from linearizability import REFUSED, UNKNOWN, ItemModel, Operation, check, explain

ANY = ItemModel.ANY


def op(client, action, output, called, returned, key="k"):
    return Operation(client, key, action, output, called, returned)


GOOD = {
    "nothing": [],
    "one after the other": [
        op(1, ("put", "a"), None, 0, 1), op(1, ("get",), ("a", None), 2, 3), op(1, ("delete",), ("a", None), 4, 5),
        op(1, ("get",), None, 6, 7)],
    "a read during a write sees the old": [op(1, ("put", "a"), None, 0, 10), op(2, ("get",), None, 1, 2)],
    "a read during a write sees the new": [op(1, ("put", "a"), None, 0, 10), op(2, ("get",), ("a", None), 1, 2)],
    "concurrent writes in either order": [
        op(1, ("put", "a"), ("b", None), 0, 10), op(2, ("put", "b"), None, 0, 10), op(3, ("get",), ("a", None), 11, 12)],
    "one of two conditional puts wins": [
        op(1, ("put_if", None, "a"), (REFUSED, ("b", None)), 0, 10), op(2, ("put_if", None, "b"), None, 0, 10)],
    "counters": [op(i, ("add", 1), i, 0, 10) for i in (3, 1, 4, 2)],
    "success without an answer": [op(1, ("put", "a"), ANY, 0, 1), op(1, ("get",), ("a", None), 2, 3)],
    "a lost answer: it happened": [op(1, ("put", "a"), UNKNOWN, 0, None), op(2, ("get",), ("a", None), 1, 2)],
    "a lost answer: it did not happen": [op(1, ("put", "a"), UNKNOWN, 0, None), op(2, ("get",), None, 1, 2)],
    "a lost answer: it happens later": [
        op(1, ("put", "a"), UNKNOWN, 0, None), op(2, ("get",), None, 1, 2), op(2, ("get",), ("a", None), 3, 4)],
    "a killed server: it happened before the kill or not": [
        op(1, ("put", "a"), UNKNOWN, 0, 5), op(2, ("get",), None, 6, 7)],
    "unknown additions, some of which happened": [
        *(op(i, ("add", 10 ** i), UNKNOWN, 0, 5) for i in range(5)), op(9, ("get",), (None, 10101), 6, 7)],
    "keys do not touch": [op(1, ("put", "a"), None, 0, 1, "x"), op(2, ("get",), None, 2, 3, "y")],
}

BAD = {
    "a stale read": [op(1, ("put", "a"), None, 0, 1), op(2, ("get",), None, 2, 3)],
    "a value of nobody": [op(1, ("put", "a"), None, 0, 1), op(2, ("get",), ("b", None), 2, 3)],
    "new, then old": [
        op(1, ("put", "a"), None, 0, 10), op(2, ("get",), ("a", None), 1, 2), op(3, ("get",), None, 3, 4)],
    "readers disagree on the order of writes": [
        op(1, ("put", "a"), ANY, 0, 10), op(2, ("put", "b"), ANY, 0, 10),
        op(3, ("get",), ("a", None), 11, 12), op(4, ("get",), ("b", None), 13, 14)],
    "both conditional puts win": [
        op(1, ("put_if", None, "a"), None, 0, 10), op(2, ("put_if", None, "b"), None, 0, 10)],
    "a condition refused for no reason": [op(1, ("put_if", None, "a"), (REFUSED, None), 0, 1)],
    "a lost addition": [op(1, ("add", 1), 1, 0, 10), op(2, ("add", 1), 1, 0, 10)],
    "an addition done twice": [op(1, ("add", 1), 1, 0, 1), op(2, ("get",), (None, 2), 2, 3)],
    "a deleted item comes back": [
        op(1, ("put", "a"), None, 0, 1), op(1, ("delete",), ("a", None), 2, 3), op(2, ("get",), ("a", None), 4, 5)],
    "an acknowledged write is lost": [
        op(1, ("put", "a"), None, 0, 1), op(1, ("put", "b"), ("a", None), 2, 3), op(2, ("get",), ("a", None), 9, 10)],
    "what was not refused is there": [
        op(1, ("put_if", None, "a"), ANY, 0, 1), op(1, ("get",), None, 2, 3)],
    "a write of unknown outcome is seen and then gone": [
        op(1, ("put", "a"), UNKNOWN, 0, None), op(2, ("get",), ("a", None), 1, 2), op(2, ("get",), None, 3, 4)],
    "a write takes effect before it is called": [
        op(1, ("get",), ("a", None), 0, 1), op(2, ("put", "a"), UNKNOWN, 2, None)],
    "a killed server's write appears after its death": [
        op(1, ("put", "a"), UNKNOWN, 0, 5), op(2, ("get",), None, 6, 7), op(2, ("get",), ("a", None), 8, 9)],
    "the wrong item before": [op(1, ("put", "a"), None, 0, 1), op(1, ("delete",), None, 2, 3)],
    "one key of many is wrong": [
        *(op(i, ("put", "a"), None, 0, 1, i) for i in range(20)), op(1, ("get",), None, 2, 3, 7)],
}


@pytest.mark.parametrize("history", GOOD.values(), ids=GOOD)
def test_good_histories_pass(history):
    result = check(history)
    assert result, explain(result)


@pytest.mark.parametrize("history", BAD.values(), ids=BAD)
def test_bad_histories_fail(history):
    result = check(history)
    assert result.verdict == "illegal"
    assert explain(result)


def test_the_time_is_limited():
    # Any subset of the additions may have happened; the sum asked for is odd and none of them is.
    history = [op(i, ("add", 2 ** i), UNKNOWN, 0, 5) for i in range(1, 15)]
    history += [op(i, ("get",), (None, 2 ** i + 1), 0, 5) for i in range(1, 15)]
    assert check(history, timeout_s=0.01).verdict == "undecided"


def run_at_random(chance, clients, steps):
    """A history made by really doing the operations one by one at moments within their intervals: always good."""
    state, operations, clock = {"x": None, "y": None}, [], itertools.count()
    open_calls = {}
    for _ in range(steps):
        client = chance.randrange(clients)
        if client not in open_calls:
            action = chance.choice((("get",), ("put", str(chance.randrange(9))), ("add", 1), ("delete",),
                                    ("put_if", chance.choice((None, "1", "2")), str(chance.randrange(9)))))
            open_calls[client] = [chance.choice("xy"), action, next(clock), None]
        elif open_calls[client][3] is None:
            key, action, _, _ = open_calls[client]
            state[key], answer = ItemModel.effect(state[key], action)
            open_calls[client][3] = (answer,)
        else:
            key, action, called, (answer,) = open_calls.pop(client)
            lost = chance.random() < 0.1
            operations.append(Operation(client, key, action, UNKNOWN if lost else answer, called, next(clock)))
    for client, (key, action, called, _) in open_calls.items():
        operations.append(Operation(client, key, action, UNKNOWN, called, None))
    return operations


def possible(operations):
    """By brute force over every order and every subset of those of unknown outcome."""
    for order in itertools.permutations(operations):
        if any(later.returned is not None and later.returned < earlier.called
               for i, earlier in enumerate(order) for later in order[i + 1:]):
            continue
        states = {None}
        for one in order:
            states = {after for state in states for after in ItemModel().step(state, one.input, one.output)}
        if states:
            return True
    return False


@pytest.mark.parametrize("seed", range(30))
def test_what_really_happened_passes(seed):
    result = check(run_at_random(random.Random(seed), clients=6, steps=600))
    assert result, explain(result)


def test_the_verdict_is_that_of_trying_every_order():
    """Small histories, half of them with an answer falsified."""
    verdicts = []
    for seed in range(300):
        chance = random.Random(seed)
        history = [one for one in run_at_random(chance, clients=3, steps=26) if one.key == "x"][:6]
        answered = [at for at, one in enumerate(history) if one.output != UNKNOWN]
        if answered and seed % 2:
            at = chance.choice(answered)
            history[at] = history[at]._replace(output=history[chance.choice(answered)].output)
        verdict = bool(check(history))
        assert verdict == possible(history), history
        verdicts.append(verdict)
    assert 20 < verdicts.count(False) < 150

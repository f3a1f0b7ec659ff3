"""Clients that do operations against a server that is killed now and then, and write down what they saw.

Moments are those of the monotonic clock, which all threads share. A request whose connection broke has an unknown
outcome; a server that was killed does nothing after the connection broke, so it happened before that or never.
"""

import itertools
import random
import time

import linearizability
import serializability
from linearizability import REFUSED, ItemModel
from restarting_server import CONNECTION_LOST

MAX_ATTEMPTS = 100


class Client:
    def __init__(self, name, server, seed):
        self.name, self.server, self.chance = name, server, random.Random(seed)
        self._wire = None

    def call(self, operation, request):
        """Status, answer and the two moments; a status of None if the connection broke."""
        if self._wire is None:
            self._wire = self.server.connect()
        called = time.monotonic_ns()
        try:
            status, answer = self._wire.call(operation, request)
        except CONNECTION_LOST as lost:
            assert not isinstance(lost, TimeoutError), f"no answer to {operation}"
            self._wire = None
            status, answer = None, None
        return status, answer, called, time.monotonic_ns()

    def run(self, stopped):
        while not stopped.is_set():
            self.step()


def error_of(answer):
    return answer["__type"].split("#")[-1]


class ItemClient(Client):
    """Reads and writes single items in every way there is; each operation becomes one of ItemModel's."""

    def __init__(self, name, server, seed, table, keys):
        super().__init__(name, server, seed)
        self.table, self.keys = table, keys
        self.history = []
        self._values = (f"{name}.{number}" for number in itertools.count())
        self._last_seen = {}

    @staticmethod
    def _state(item):
        if not item:
            return None
        return item["v"]["S"] if "v" in item else None, int(item["n"]["N"]) if "n" in item else None

    def step(self):
        key = self.chance.choice(self.keys)
        make = self.chance.choices(
            (self._get, self._put, self._put_if, self._add, self._delete, self._batch_put),
            (6, 2, 3, 3, 1, 1))[0]
        action, operation, request, read = make(key)
        status, answer, called, returned = self.call(operation, request)
        if status is None:
            output = linearizability.UNKNOWN
        elif status == 200:
            output = read(answer)
        else:
            assert action[0] == "put_if" and error_of(answer) == "ConditionalCheckFailedException", answer
            output = REFUSED, self._state(answer.get("Item"))
            self._last_seen[key] = output[1]
        if action[0] == "get" and status == 200:
            self._last_seen[key] = output
        self.history.append(linearizability.Operation(self.name, key, action, output, called, returned))

    def _at(self, key):
        return {"TableName": self.table, "Key": {"pk": {"S": key}}}

    def _get(self, key):
        way = self.chance.randrange(4)
        if way == 0:
            return ("get",), "TransactGetItems", {"TransactItems": [{"Get": self._at(key)}]}, \
                lambda answer: self._state(answer["Responses"][0].get("Item"))
        if way == 1:
            request = {"TableName": self.table, "ConsistentRead": True, "KeyConditionExpression": "pk = :pk",
                       "ExpressionAttributeValues": {":pk": {"S": key}}}
            return ("get",), "Query", request, lambda answer: self._state((answer["Items"] or [None])[0])
        if way == 2:
            request = {"RequestItems": {self.table: {"Keys": [{"pk": {"S": key}}], "ConsistentRead": True}}}
            return ("get",), "BatchGetItem", request, \
                lambda answer: self._state((answer["Responses"][self.table] or [None])[0])
        return ("get",), "GetItem", {**self._at(key), "ConsistentRead": True}, \
            lambda answer: self._state(answer.get("Item"))

    def _old(self, answer):
        return self._state(answer.get("Attributes"))

    def _put(self, key):
        value = next(self._values)
        request = {"TableName": self.table, "Item": {"pk": {"S": key}, "v": {"S": value}}, "ReturnValues": "ALL_OLD"}
        return ("put", value), "PutItem", request, self._old

    def _batch_put(self, key):
        value = next(self._values)
        request = {"RequestItems": {self.table: [{"PutRequest": {"Item": {"pk": {"S": key}, "v": {"S": value}}}}]}}
        return ("put", value), "BatchWriteItem", request, lambda answer: ItemModel.ANY

    def _put_if(self, key):
        value, seen = next(self._values), self._last_seen.get(key)
        expected = seen[0] if seen is not None else None
        request = {"TableName": self.table, "Item": {"pk": {"S": key}, "v": {"S": value}}, "ReturnValues": "ALL_OLD",
                   "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        if expected is None:
            request["ConditionExpression"] = "attribute_not_exists(pk)"
        else:
            request["ConditionExpression"] = "v = :v"
            request["ExpressionAttributeValues"] = {":v": {"S": expected}}
        return ("put_if", expected, value), "PutItem", request, self._old

    def _add(self, key):
        amount = self.chance.randint(1, 9)
        request = {**self._at(key), "UpdateExpression": "ADD n :n", "ReturnValues": "UPDATED_NEW",
                   "ExpressionAttributeValues": {":n": {"N": str(amount)}}}
        return ("add", amount), "UpdateItem", request, lambda answer: int(answer["Attributes"]["n"]["N"])

    def _delete(self, key):
        return ("delete",), "DeleteItem", {**self._at(key), "ReturnValues": "ALL_OLD"}, self._old


class ListClient(Client):
    """Transactions over several items that each hold a list. Four kinds: reads of several items; appends to several;
    one item read and appended to by one UpdateItem; and read-write transactions, whose reads are checked again by the
    conditions of the write, so that they hold at the moment of the commit."""

    def __init__(self, name, server, seed, tables, keys, numbers):
        super().__init__(name, server, seed)
        self.tables, self.keys, self.numbers = tables, keys, numbers
        self.history = []

    def _at(self, key):
        return {"TableName": self.tables[key % len(self.tables)], "Key": {"pk": {"S": f"list-{key}"}}}

    def step(self):
        self.chance.choices((self._read, self._append, self._update_one, self._read_and_append), (3, 3, 2, 4))[0]()

    def _some_keys(self, most):
        return self.chance.sample(self.keys, self.chance.randint(1, most))

    def _note(self, operations, outcome, called, returned):
        if outcome != serializability.OK:
            operations = [(kind, key, None if kind == "read" else value) for kind, key, value in operations]
        self.history.append(
            serializability.Transaction(self.name, tuple(operations), outcome, called, returned))

    def _get(self, keys):
        status, answer, called, returned = self.call(
            "TransactGetItems", {"TransactItems": [{"Get": self._at(key)} for key in keys]})
        if status is None:
            return None, called, returned
        if status == 400 and error_of(answer) == "TransactionCanceledException":
            return None, called, returned  # a conflict: the read did not happen
        assert status == 200, answer
        lists = [[int(value["N"]) for value in response.get("Item", {}).get("l", {"L": []})["L"]]
                 for response in answer["Responses"]]
        return dict(zip(keys, lists)), called, returned

    def _read(self):
        self.read_keys(self._some_keys(4))

    def read_keys(self, keys):
        lists, called, returned = self._get(keys)
        if lists is None:
            return False
        self._note([("read", key, lists[key]) for key in keys], serializability.OK, called, returned)
        return True

    @staticmethod
    def _appending(number):
        values = {":new": {"L": [{"N": str(number)}]}, ":none": {"L": []}}
        return {"UpdateExpression": "SET l = list_append(if_not_exists(l, :none), :new)",
                "ExpressionAttributeValues": values}

    @staticmethod
    def _unchanged(seen):
        """The condition that a list is still as long as it was; lists only grow."""
        if not seen:
            return {"ConditionExpression": "attribute_not_exists(l)"}, {}
        return {"ConditionExpression": "size(l) = :size"}, {":size": {"N": str(len(seen))}}

    def _write(self, keys_read, keys_written):
        actions, operations = [], [("read", key, seen) for key, seen in keys_read.items()]
        for key in keys_written:
            number = next(self.numbers)
            update = {**self._at(key), **self._appending(number)}
            if key in keys_read:
                condition, values = self._unchanged(keys_read[key])
                update.update(condition)
                update["ExpressionAttributeValues"].update(values)
            actions.append({"Update": update})
            operations.append(("append", key, number))
        for key, seen in keys_read.items():
            if key not in keys_written:
                condition, values = self._unchanged(seen)
                check = {**self._at(key), **condition, **({"ExpressionAttributeValues": values} if values else {})}
                actions.append({"ConditionCheck": check})
        self.chance.shuffle(actions)
        status, answer, called, returned = self.call("TransactWriteItems", {"TransactItems": actions})
        if status is None:
            outcome, returned = serializability.UNKNOWN, None
        elif status == 200:
            outcome = serializability.OK
        else:
            assert error_of(answer) == "TransactionCanceledException", answer
            outcome = serializability.FAILED
        self._note(operations, outcome, called, returned)

    def _append(self):
        self._write({}, self._some_keys(3))

    def _read_and_append(self):
        lists, _, _ = self._get(self._some_keys(3))
        if lists is not None:
            keys = list(lists) if self.chance.random() < 0.5 else self._some_keys(2)
            self._write(lists, self.chance.sample(keys, self.chance.randint(1, len(keys))))

    def _update_one(self):
        key, number = self.chance.choice(self.keys), next(self.numbers)
        status, answer, called, returned = self.call(
            "UpdateItem", {**self._at(key), **self._appending(number), "ReturnValues": "UPDATED_OLD"})
        if status is None:
            self._note([("append", key, number)], serializability.UNKNOWN, called, None)
            return
        if status != 200:
            assert error_of(answer) == "TransactionConflictException", answer
            self._note([("append", key, number)], serializability.FAILED, called, returned)
            return
        before = [int(value["N"]) for value in answer.get("Attributes", {}).get("l", {"L": []})["L"]]
        self._note([("read", key, before), ("append", key, number)], serializability.OK, called, returned)

    def read_all(self):
        """A last look at every list, in one transaction, so that nothing written stays unseen."""
        assert any(self.read_keys(self.keys) for _ in range(MAX_ATTEMPTS))

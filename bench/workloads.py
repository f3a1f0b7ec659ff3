"""What is measured. A workload has tables with items and the requests that are sent over and over, in a fixed random
order, so that every server gets the same."""

import dataclasses
import json
import random
import string

ITEMS = 10_000
REQUESTS = 5_000


def text(chance, size):
    return "".join(chance.choices(string.ascii_letters + string.digits, k=size))


def user(number):
    return f"user#{number:08d}"


def table(name, sort=None, indexes=0, **more):
    keys = [("pk", "S")] + ([(sort, "S")] if sort else [])
    indexed = [(f"g{i}", "S") for i in range(indexes)]
    request = {
        "TableName": name,
        "KeySchema": [{"AttributeName": n, "KeyType": k} for (n, _), k in zip(keys, ("HASH", "RANGE"))],
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": t} for n, t in keys + indexed],
        "BillingMode": "PAY_PER_REQUEST",
        **more,
    }
    if indexes:
        request["GlobalSecondaryIndexes"] = [
            {"IndexName": f"by-{n}", "KeySchema": [{"AttributeName": n, "KeyType": "HASH"}],
             "Projection": {"ProjectionType": "ALL"}} for n, _ in indexed]
    return request


def item(chance, number, size=200, indexes=0):
    # Names and key take about 60 bytes of it.
    fields = {"pk": {"S": user(number)}, "status": {"S": chance.choice(("open", "paid", "sent"))},
              "count": {"N": str(chance.randrange(1_000_000))}, "payload": {"S": text(chance, max(1, size - 60))}}
    for i in range(indexes):
        fields[f"g{i}"] = {"S": f"group#{chance.randrange(1000)}"}
    return fields


@dataclasses.dataclass
class Workload:
    name: str
    tables: list                       # CreateTable requests
    load: object                       # chance -> an iterator of (table, item)
    requests: object                   # chance -> a list of (operation, request)
    connections: int = 32
    items_each: int = 1                # items in one request
    limit: bool = True                 # compared with nginx
    peers: bool = True                 # with the others
    durable: bool = False              # also with the durable server
    versus: str = ""                   # the workload that this one's cost is compared with
    seconds: float = 0                 # 0: as asked
    half_of: str = ""                  # driven at half of what stator reached in memory in the workload of this name
    after: list = dataclasses.field(default_factory=list)  # further requests once the tables are loaded


def plain(name="Bench", count=ITEMS, size=200, indexes=0):
    def load(chance):
        return ((name, item(chance, n, size, indexes)) for n in range(count))
    return load


def rows(partitions, each, size):
    def load(chance):
        for p in range(partitions):
            for s in range(each):
                yield "Rows", {"pk": {"S": user(p)}, "sk": {"S": f"row#{s:06d}"},
                               "payload": {"S": text(chance, max(1, size - 40))}}
    return load


def gets(chance, name="Bench", count=ITEMS):
    return [("GetItem", {"TableName": name, "Key": {"pk": {"S": user(chance.randrange(count))}}})
            for _ in range(REQUESTS)]


def puts(size=200, indexes=0, name="Bench", requests=REQUESTS):
    def make(chance):
        return [("PutItem", {"TableName": name, "Item": item(chance, chance.randrange(ITEMS), size, indexes)})
                for _ in range(requests)]
    return make


def counters(hot):
    def make(chance):
        return [("UpdateItem", {"TableName": "Bench", "Key": {"pk": {"S": user(0 if hot else chance.randrange(ITEMS))}},
                                "UpdateExpression": "ADD hits :one", "ExpressionAttributeValues": {":one": {"N": "1"}}})
                for _ in range(REQUESTS)]
    return make


def conditional_puts(chance):
    return [("PutItem", {"TableName": "Bench", "Item": item(chance, chance.randrange(ITEMS)),
                         "ConditionExpression": "attribute_exists(pk) AND #c >= :zero",
                         "ExpressionAttributeNames": {"#c": "count"},
                         "ExpressionAttributeValues": {":zero": {"N": "0"}}}) for _ in range(REQUESTS)]


def queries(partitions, limit=None):
    def make(chance):
        more = {"Limit": limit} if limit else {}
        return [("Query", {"TableName": "Rows", "KeyConditionExpression": "pk = :p",
                           "ExpressionAttributeValues": {":p": {"S": user(chance.randrange(partitions))}}, **more})
                for _ in range(min(REQUESTS, partitions * 10))]
    return make


def batch_writes(chance):
    return [("BatchWriteItem", {"RequestItems": {"Bench": [
        {"PutRequest": {"Item": item(chance, n)}} for n in chance.sample(range(ITEMS), 25)]}})
        for _ in range(REQUESTS // 10)]


def batch_gets(chance):
    return [("BatchGetItem", {"RequestItems": {"Bench": {"Keys": [
        {"pk": {"S": user(n)}} for n in chance.sample(range(ITEMS), 100)]}}}) for _ in range(REQUESTS // 10)]


def transactions(chance):
    return [("TransactWriteItems", {"TransactItems": [
        {"Put": {"TableName": "Bench", "Item": item(chance, n)}} for n in chance.sample(range(ITEMS), 4)]})
        for _ in range(REQUESTS // 2)]


def scans(count):
    def make(chance):
        return [("Scan", {"TableName": "Bench", "TotalSegments": 64, "Segment": chance.randrange(64)})
                for _ in range(200)]
    return make


def zipf(chance, count, skew=0.99):
    """A number below `count`, small ones far more often: YCSB's request distribution, by inversion."""
    return min(count - 1, int(count ** chance.random() ** (1 / (1 - skew + 0.5))) - 1)


def ycsb(letter):
    read, update, insert, scan, modify = {"A": (50, 50, 0, 0, 0), "B": (95, 5, 0, 0, 0), "C": (100, 0, 0, 0, 0),
                                          "D": (95, 0, 5, 0, 0), "E": (0, 0, 5, 95, 0), "F": (50, 0, 0, 0, 50)}[letter]

    def make(chance):
        made, next_new = [], ITEMS
        for _ in range(REQUESTS):
            kind = chance.choices(("read", "update", "insert", "scan", "modify"), (read, update, insert, scan, modify))[0]
            number = zipf(chance, ITEMS)
            if letter == "D" and kind == "read":
                number = max(0, next_new - 1 - number)  # the newest are read most
            key = {"pk": {"S": user(number)}}
            if kind == "read":
                made.append(("GetItem", {"TableName": "Bench", "Key": key}))
            elif kind == "insert":
                made.append(("PutItem", {"TableName": "Bench", "Item": item(chance, next_new, 1000)}))
                next_new += 1
            elif kind == "scan":
                made.append(("Scan", {"TableName": "Bench", "ExclusiveStartKey": key,
                                      "Limit": chance.randrange(1, 101)}))
            else:  # an update writes a field; a read-modify-write reads it back in the same request
                made.append(("UpdateItem", {
                    "TableName": "Bench", "Key": key, "UpdateExpression": "SET payload = :p",
                    "ExpressionAttributeValues": {":p": {"S": text(chance, 100)}},
                    **({"ReturnValues": "ALL_OLD"} if kind == "modify" else {})}))
        return made
    return make


STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
RECOVERY = ("UpdateContinuousBackups", {"TableName": "Bench",
                                        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}})
BENCH = [table("Bench")]
ROWS = [table("Rows", sort="sk")]

WORKLOADS = [
    Workload("GetItem", BENCH, plain(), gets, durable=True),
    Workload("GetItem, 1 connection", BENCH, plain(), gets, connections=1),
    Workload("GetItem, 512 connections", BENCH, plain(), gets, connections=512),
    Workload("GetItem, 4 KB", BENCH, plain(size=4096), gets),
    Workload("GetItem, 400 KB", BENCH, plain(count=100, size=400_000), lambda c: gets(c, count=100)[:200], peers=False),
    Workload("PutItem", BENCH, plain(), puts(), durable=True),
    Workload("PutItem, 1 connection", BENCH, plain(), puts(), connections=1, durable=True),
    Workload("PutItem, 512 connections", BENCH, plain(), puts(), connections=512, durable=True),
    Workload("PutItem, 4 KB", BENCH, plain(size=4096), puts(size=4096), durable=True),
    Workload("PutItem, 400 KB", BENCH, plain(count=1), puts(size=400_000, requests=50), peers=False),
    Workload("UpdateItem, counters", BENCH, plain(), counters(False), durable=True),
    Workload("UpdateItem, one hot counter", BENCH, plain(), counters(True), durable=True),
    Workload("PutItem with a condition", BENCH, plain(), conditional_puts),
    Workload("GetItem at half load", BENCH, plain(), gets, limit=False, peers=False, half_of="GetItem"),
    Workload("PutItem at half load", BENCH, plain(), puts(), limit=False, peers=False, half_of="PutItem"),
    Workload("Query of 1", ROWS, rows(500, 100, 200), queries(500, 1)),
    Workload("Query of 20", ROWS, rows(500, 100, 200), queries(500, 20), items_each=20),
    Workload("Query of 1 MB", ROWS, rows(3, 6000, 200), queries(3), peers=False),
    Workload("BatchWriteItem of 25", BENCH, plain(), batch_writes, items_each=25, durable=True),
    Workload("BatchGetItem of 100", BENCH, plain(), batch_gets, items_each=100),
    Workload("TransactWriteItems of 4", BENCH, plain(), transactions, items_each=4, durable=True),
    Workload("PutItem with 1 index", [table("Bench", indexes=1)], plain(indexes=1), puts(indexes=1)),
    Workload("PutItem with 5 indexes", [table("Bench", indexes=5)], plain(indexes=5), puts(indexes=5)),
    Workload("PutItem with a stream", [table("Bench", **STREAM)], plain(), puts(), limit=False, peers=False,
             durable=True, versus="PutItem"),
    Workload("PutItem with recovery", BENCH, plain(), puts(), limit=False, peers=False, durable=True,
             versus="PutItem", after=[RECOVERY]),
    *(Workload(f"YCSB {letter}", BENCH, plain(size=1000), ycsb(letter), limit=False) for letter in "ABCDEF"),
    Workload("Scan of a million", BENCH, plain(count=1_000_000), scans(1_000_000), limit=False, peers=False, seconds=10),
]


def write_requests(path, workload, seed):
    """Writes the file that load.lua reads; returns the first request."""
    made = workload.requests(random.Random(seed))
    with open(path, "w") as out:
        for operation, request in made:
            out.write(f"{operation}\t{json.dumps(request, separators=(',', ':'))}\n")
    return made[0]

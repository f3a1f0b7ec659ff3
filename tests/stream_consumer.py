"""A consumer of a table's stream as one is written for the service: parents before children, a place in each shard that
it goes on from, and a copy of the table that it keeps by what the records say."""

import json


class StreamConsumer:
    """Not for several threads at once. Needs NEW_AND_OLD_IMAGES."""

    def __init__(self, table_name):
        self._table_name = table_name
        self._arn = None
        self._places = {}   # shard -> the last sequence number that was applied
        self._ended = set()
        self.copy = {}      # the item's key as text -> the item
        self.records = 0
        self.shards = {}    # shard -> its parent or None, of all that were ever seen

    def _describe(self, client):
        if self._arn is None:
            described = client.expect("DescribeTable", {"TableName": self._table_name})["Table"]
            self._arn = described["LatestStreamArn"]
        shards, start = [], {}
        while True:
            answer = client.expect("DescribeStream", {"StreamArn": self._arn, "Limit": 5, **start})["StreamDescription"]
            shards += answer["Shards"]
            if "LastEvaluatedShardId" not in answer:
                return shards
            start = {"ExclusiveStartShardId": answer["LastEvaluatedShardId"]}

    def poll(self, client):
        """Reads what there is, until nothing more comes. May be broken off by a lost connection at any point."""
        waiting = self._describe(client)
        for shard in waiting:
            self.shards[shard["ShardId"]] = shard.get("ParentShardId")
        while waiting:
            ready = [shard for shard in waiting if shard.get("ParentShardId") in self._ended
                     or shard.get("ParentShardId") not in self.shards]
            later = [shard for shard in waiting if shard not in ready]
            for shard in ready:
                if shard["ShardId"] not in self._ended:
                    self._read(client, shard["ShardId"])
            if not any(shard["ShardId"] in self._ended for shard in ready):
                return
            waiting = later

    def _read(self, client, shard):
        place = self._places.get(shard)
        where = ({"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": place} if place
                 else {"ShardIteratorType": "TRIM_HORIZON"})
        answer = client.expect("GetShardIterator", {"StreamArn": self._arn, "ShardId": shard, **where})
        iterator = answer["ShardIterator"]
        while True:
            answer = client.expect("GetRecords", {"ShardIterator": iterator})
            for record in answer["Records"]:
                self._apply(shard, record)
            iterator = answer.get("NextShardIterator")
            if iterator is None:
                self._ended.add(shard)
            if iterator is None or not answer["Records"]:
                return

    def _apply(self, shard, record):
        change = record["dynamodb"]
        key = json.dumps(change["Keys"], sort_keys=True)
        place = change["SequenceNumber"]
        assert place > self._places.get(shard, ""), f"{shard} goes back from {self._places[shard]} to {place}"
        # The record before this one of the same item must be the one that was applied last: none lost, none twice.
        assert self.copy.get(key) == change.get("OldImage"), (
            f"{key}: the copy has {self.copy.get(key)}, the record says {change.get('OldImage')}")
        event = "INSERT" if "OldImage" not in change else "MODIFY" if "NewImage" in change else "REMOVE"
        assert record["eventName"] == event
        if "NewImage" in change:
            assert change["NewImage"] != change.get("OldImage"), "a record of a write that changed nothing"
            self.copy[key] = change["NewImage"]
        else:
            del self.copy[key]
        self._places[shard] = place
        self.records += 1

    def check(self, items, *key_names):
        """The copy is the table. Call it after a poll, while nobody writes."""
        found = {json.dumps({name: item[name] for name in key_names}, sort_keys=True): item for item in items}
        assert found == self.copy, "replaying the stream does not give the table"

#include "database/check_streams.h"

#include <functional>

#include "model/codec.h"
#include "model/key_codec.h"

namespace stator::check {

namespace {

size_t hash_of(std::string_view bytes) {
  return std::hash<std::string_view>{}(bytes);
}

}  // namespace

void StreamCheck::run() {
  name_ = "stream " + stream_.arn;
  bool read_all = true;
  // Parents come before their children, so that the records of an item are read in their order.
  for (const catalog::Shard& shard : stream_.shards) {
    shard_name_ = name_ + ", shard " + shard.id;
    read_all = findings_.guarded(shard_name_, [&] { check_shard(shard); }) && read_all;
  }
  if (read_all && table_ != nullptr && !stream_.disabled_ms)
    findings_.guarded(name_, [&] { compare_with_items(); });
}

void StreamCheck::check_shard(const catalog::Shard& shard) {
  const std::string prefix = catalog::shard_prefix(stream_.id, shard.number);
  closed_ = false;
  store_.for_each(prefix, [&](std::string_view key, std::string_view row) {
    key.remove_prefix(prefix.size());
    findings_.guarded(shard_name_ + ", a record", [&] {
      const auto version = read_big_endian<uint64_t>(key);
      read_big_endian<uint32_t>(key);
      if (!key.empty()) throw CorruptRecord("a key that is too long");
      check_row(shard, version, row);
    });
  });
  // Its last row stays as long as any: when it is erased, the shard is forgotten soon.
  if (shard.closed_ms && !closed_ && !last_.empty() && shard.closed_version != 0 &&
      store_.first_key(prefix).value_or("").starts_with(prefix)) {
    findings_.problem(shard_name_ + ": it is closed, and its records do not say so");
  }
}

void StreamCheck::check_row(const catalog::Shard& shard, uint64_t version, std::string_view row) {
  if (closed_) findings_.problem(shard_name_ + ": records after its end");
  if (version > store_.version_ceiling())
    findings_.problem(shard_name_ + ": a record of a version that was never given");
  if (version < shard.opened_version)
    findings_.problem(shard_name_ + ": a record from before it was opened");
  if (shard.closed_version != 0 && version > shard.closed_version)
    findings_.problem(shard_name_ + ": a record from after it was closed");
  const auto record = store::decode_stream_record(row);
  if (record) return check_record(shard, *record);
  closed_ = row == catalog::kShardClosed;
  if (closed_ && !shard.closed_ms)
    findings_.problem(shard_name_ + ": its records end, and it is still open");
}

void StreamCheck::check_record(const catalog::Shard& shard, const store::StreamRecord& record) {
  ++findings_.report.stream_records;
  std::optional<model::Item> fresh;
  std::optional<model::Item> old;
  std::optional<model::Item> keys;
  if (record.new_image) fresh = model::decode_item(*record.new_image);
  if (record.old_image) old = model::decode_item(*record.old_image);
  if (record.keys) keys = model::decode_item(*record.keys);
  const model::Item* const item = fresh ? &*fresh : old ? &*old : keys ? &*keys : nullptr;
  const model::Value* const partition =
      item != nullptr ? item->find(stream_.key.partition[0].name) : nullptr;
  const bool has_sort = !stream_.key.sort.empty();
  const model::Value* const sort =
      item != nullptr && has_sort ? item->find(stream_.key.sort[0].name) : nullptr;
  if (partition == nullptr || (has_sort && sort == nullptr))
    throw CorruptRecord("it does not say which item it is about");

  const std::string shown = shard_name_ + ", item " + describe_key(stream_.key, *item);
  const uint64_t hash = model::partition_hash({partition});
  if (hash < shard.first_hash || hash > shard.last_hash)
    findings_.problem(shown + ": its record belongs to another shard");

  const bool is_there = record.event != store::StreamEvent::kRemove;
  const auto [found, is_first] =
      last_.try_emplace(model::item_key(stream_.id.table, *partition, sort));
  Last& last = found->second;
  if (!is_first) {
    const bool was_there = record.event != store::StreamEvent::kInsert;
    if (last.there != was_there) {
      findings_.problem(fmt::format("{}: {} of an item that was {}there", shown,
                                    store::stream_event_name(record.event),
                                    last.there ? "" : "not "));
    } else if (last.image && record.old_image && *last.image != hash_of(*record.old_image)) {
      findings_.problem(shown + ": what it was is not what the record before says");
    }
  }
  last.there = is_there;
  last.image = record.new_image ? std::optional(hash_of(*record.new_image)) : std::nullopt;
}

void StreamCheck::compare_with_items() {
  for (const auto& [key, last] : last_) {
    const auto record = store_.get(key);
    if (!record) {
      if (last.there)
        findings_.problem(name_ + ": an item that should be there by its last record");
      continue;
    }
    std::string_view encoded = *record;
    model::read_header(encoded);
    const std::string shown =
        name_ + ", item " + describe_key(stream_.key, model::decode_item(encoded));
    if (!last.there) {
      findings_.problem(shown + ": it is there, and its last record says that it was removed");
    } else if (last.image && *last.image != hash_of(encoded)) {
      findings_.problem(shown + ": it is not what its last record says");
    }
  }
}

}  // namespace stator::check

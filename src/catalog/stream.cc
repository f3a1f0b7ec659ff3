#include "catalog/stream.h"

#include <algorithm>
#include <ctime>

#include "catalog/table_codec.h"
#include "common/bytes.h"
#include "common/hex.h"
#include "common/md5.h"
#include "json/reader.h"
#include "json/writer.h"

namespace stator::catalog {

namespace {

constexpr char kRecordVersion = 1;

// As the service's look: the time in twenty digits and something random, here a hash of what is
// unique already.
std::string shard_id(const Stream& stream, model::ShardNumber number, int64_t now_ms) {
  const std::string time = std::to_string(now_ms);
  const auto digest = md5({stream.arn, "/", std::to_string(number)});
  std::string id =
      "shardId-" + std::string(20 - std::min<size_t>(20, time.size()), '0') + time + "-";
  id += to_hex({reinterpret_cast<const char*>(digest.data()), 4});
  return id;
}

// Opens `count` shards that share the hashes from `first` to `last`.
void open_shards(Stream& stream, model::ShardNumber parent, uint64_t first, uint64_t last,
                 uint64_t count, int64_t now_ms) {
  const uint64_t width = (last - first) / count;
  for (uint64_t i = 0; i < count; ++i) {
    Shard shard;
    shard.number = ++stream.last_shard_number;
    shard.parent = parent;
    shard.id = shard_id(stream, shard.number, now_ms);
    shard.first_hash = i == 0 ? first : stream.shards.back().last_hash + 1;
    shard.last_hash = i + 1 == count ? last : first + width * (i + 1);
    shard.opened_ms = now_ms;
    stream.shards.push_back(std::move(shard));
  }
}

void write_shard(std::string& out, const Shard& shard) {
  json::Object object(out);
  object.integer("number", shard.number);
  object.integer("parent", shard.parent);
  object.string("id", shard.id);
  // Hashes and versions have 64 bits: text, since JSON's numbers are signed here.
  object.string("first_hash", std::to_string(shard.first_hash));
  object.string("last_hash", std::to_string(shard.last_hash));
  object.integer("opened_ms", shard.opened_ms);
  if (shard.closed_ms) object.integer("closed_ms", *shard.closed_ms);
  object.string("opened_version", std::to_string(shard.opened_version));
  object.string("closed_version", std::to_string(shard.closed_version));
  object.close();
}

[[noreturn]] void corrupt(const std::string& what) {
  throw CorruptRecord("stream record: " + what);
}

std::string text(const json::Element& element, std::string_view name) {
  const auto value = json::string_member(element, name);
  if (!value) corrupt("no text " + std::string(name));
  return std::string(*value);
}

uint64_t unsigned_text(const json::Element& element, std::string_view name) {
  try {
    return std::stoull(text(element, name));
  } catch (const std::logic_error&) {
    corrupt("no number " + std::string(name));
  }
}

int64_t integer(const json::Element& element, std::string_view name) {
  const auto value = json::int_member(element, name);
  if (!value) corrupt("no number " + std::string(name));
  return *value;
}

Shard read_shard(const json::Element& element) {
  Shard shard;
  shard.number = static_cast<model::ShardNumber>(integer(element, "number"));
  shard.parent = static_cast<model::ShardNumber>(integer(element, "parent"));
  shard.id = text(element, "id");
  shard.first_hash = unsigned_text(element, "first_hash");
  shard.last_hash = unsigned_text(element, "last_hash");
  shard.opened_ms = integer(element, "opened_ms");
  shard.closed_ms = json::int_member(element, "closed_ms");
  shard.opened_version = unsigned_text(element, "opened_version");
  shard.closed_version = unsigned_text(element, "closed_version");
  return shard;
}

}  // namespace

const Shard* Stream::find_shard(std::string_view wanted) const {
  const auto found = std::find_if(shards.begin(), shards.end(),
                                  [&](const Shard& shard) { return shard.id == wanted; });
  return found != shards.end() ? &*found : nullptr;
}

const Shard* Stream::find_shard(model::ShardNumber wanted) const {
  const auto found = std::find_if(shards.begin(), shards.end(),
                                  [&](const Shard& shard) { return shard.number == wanted; });
  return found != shards.end() ? &*found : nullptr;
}

std::string stream_label(int64_t time_ms) {
  const std::time_t seconds = time_ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char time[32];
  const size_t size = std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string(time_ms % 1000);
  return std::string(time, size) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

std::string stream_arn(const Table& table, std::string_view label, bool hidden) {
  return table.arn + (hidden ? "/stream/hidden-" : "/stream/") + std::string(label);
}

Stream open_stream(const Table& table, model::StreamNumber number, model::StreamView view,
                   bool hidden, std::string label, int64_t shards, int64_t now_ms) {
  Stream stream;
  stream.id = {table.schema->number, number};
  stream.table_name = table.name();
  stream.label = std::move(label);
  stream.arn = stream_arn(table, stream.label, hidden);
  stream.view = view;
  stream.hidden = hidden;
  stream.key = table.schema->key;
  stream.created_ms = now_ms;
  stream.asked_shards = shards;
  open_shards(stream, 0, 0, UINT64_MAX, static_cast<uint64_t>(shards), now_ms);
  return stream;
}

void roll_shards(Stream& stream, int64_t shards, int64_t now_ms) {
  std::vector<Shard> open;
  for (Shard& shard : stream.shards) {
    if (shard.closed_ms) continue;
    shard.closed_ms = now_ms;
    open.push_back(shard);
  }
  const auto count = static_cast<uint64_t>(open.size());
  const uint64_t wanted = std::max(count, static_cast<uint64_t>(shards));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t children = wanted / count + (i < wanted % count ? 1 : 0);
    open_shards(stream, open[i].number, open[i].first_hash, open[i].last_hash, children, now_ms);
  }
  stream.asked_shards = shards;
}

void close_stream(Stream& stream, int64_t now_ms) {
  for (Shard& shard : stream.shards) {
    if (!shard.closed_ms) shard.closed_ms = now_ms;
  }
  stream.disabled_ms = now_ms;
}

model::Capture capture_of(const Stream& stream) {
  model::Capture capture{
      .stream = stream.id.number, .view = stream.view, .hidden = stream.hidden, .shards = {}};
  for (const Shard& shard : stream.shards) {
    if (!shard.closed_ms) capture.shards.push_back({shard.number, shard.first_hash});
  }
  std::sort(capture.shards.begin(), capture.shards.end(),
            [](const auto& a, const auto& b) { return a.first_hash < b.first_hash; });
  return capture;
}

std::string encode_stream(const Stream& stream) {
  std::string out(1, kRecordVersion);
  json::Object object(out);
  object.integer("table", static_cast<int64_t>(stream.id.table));
  object.integer("number", stream.id.number);
  object.string("table_name", stream.table_name);
  object.string("arn", stream.arn);
  object.string("label", stream.label);
  object.string("view", model::stream_view_name(stream.view));
  object.boolean("hidden", stream.hidden);
  write_key(object.key("key"), stream.key);
  object.integer("created_ms", stream.created_ms);
  if (stream.disabled_ms) object.integer("disabled_ms", *stream.disabled_ms);
  object.integer("asked_shards", stream.asked_shards);
  object.integer("last_shard_number", stream.last_shard_number);
  json::Array shards(object.key("shards"));
  for (const Shard& shard : stream.shards) write_shard(shards.element(), shard);
  shards.close();
  object.close();
  return out;
}

Stream decode_stream(std::string_view record) {
  if (record.empty() || record.front() != kRecordVersion) corrupt("unknown version");
  json::Document document;
  if (!document.parse(std::string(record.substr(1)))) corrupt("not JSON");
  const json::Element root = document.root();
  Stream stream;
  stream.id.table = static_cast<model::TableNumber>(integer(root, "table"));
  stream.id.number = static_cast<model::StreamNumber>(integer(root, "number"));
  stream.table_name = text(root, "table_name");
  stream.arn = text(root, "arn");
  stream.label = text(root, "label");
  const auto view = model::stream_view_of(text(root, "view"));
  if (!view) corrupt("unknown view");
  stream.view = *view;
  stream.hidden = json::bool_member(root, "hidden").value_or(false);
  const auto key = json::member(root, "key");
  if (!key) corrupt("no key");
  stream.key = read_key(*key);
  stream.created_ms = integer(root, "created_ms");
  stream.disabled_ms = json::int_member(root, "disabled_ms");
  stream.asked_shards = integer(root, "asked_shards");
  stream.last_shard_number = static_cast<model::ShardNumber>(integer(root, "last_shard_number"));
  const auto shards = json::array_member(root, "shards");
  if (!shards) corrupt("no shards");
  for (const json::Element shard : *shards) stream.shards.push_back(read_shard(shard));
  return stream;
}

std::string shard_prefix(StreamId stream, model::ShardNumber shard) {
  std::string key = "c";
  append_big_endian<uint64_t>(key, stream.table);
  append_big_endian<uint32_t>(key, stream.number);
  append_big_endian<uint32_t>(key, shard);
  return key;
}

std::string stream_key(StreamId stream) {
  std::string key = "mr";
  append_big_endian<uint64_t>(key, stream.table);
  append_big_endian<uint32_t>(key, stream.number);
  return key;
}

}  // namespace stator::catalog

#include "store/stream_record.h"

#include "catalog/stream.h"
#include "common/bytes.h"
#include "model/key_codec.h"

namespace stator::store {

namespace {

constexpr char kRecord = 'r';
constexpr char kVersion = 1;
// Which parts a record has.
constexpr unsigned char kHasKeys = 1;
constexpr unsigned char kHasNew = 2;
constexpr unsigned char kHasOld = 4;

void append_image(std::string& out, const Image& image) {
  if (!image.encoded.empty()) {
    append_string(out, image.encoded);
  } else {
    append_string(out, model::encode_item(*image.item));
  }
}

}  // namespace

std::string_view stream_event_name(StreamEvent event) {
  switch (event) {
    case StreamEvent::kInsert:
      return "INSERT";
    case StreamEvent::kModify:
      return "MODIFY";
    case StreamEvent::kRemove:
      break;
  }
  return "REMOVE";
}

void write_stream_records(const model::TableSchema& table, const std::optional<Image>& old,
                          const std::optional<Image>& fresh, const std::string& item_key,
                          int64_t now_us, model::Origin origin, engine::Batch& batch) {
  if (!old && !fresh) return;
  if (old && fresh && old->size_bytes == fresh->size_bytes && *old->item == *fresh->item) return;
  const StreamEvent event = !old     ? StreamEvent::kInsert
                            : !fresh ? StreamEvent::kRemove
                                     : StreamEvent::kModify;
  const uint64_t hash = model::hash_in_key(item_key, model::kItemsPrefixBytes);
  const model::Item key = model::key_of(table.key, fresh ? *fresh->item : *old->item);
  const size_t key_bytes = model::size_bytes(key);
  for (const model::Capture& capture : table.captures) {
    using model::StreamView;
    const bool shows_new =
        capture.view == StreamView::kNewImage || capture.view == StreamView::kNewAndOldImages;
    const bool shows_old =
        capture.view == StreamView::kOldImage || capture.view == StreamView::kNewAndOldImages;
    const Image* new_image = shows_new && fresh ? &*fresh : nullptr;
    const Image* old_image = shows_old && old ? &*old : nullptr;
    const bool has_keys = new_image == nullptr && old_image == nullptr;
    const size_t size_bytes = key_bytes + (new_image != nullptr ? new_image->size_bytes : 0) +
                              (old_image != nullptr ? old_image->size_bytes : 0);
    std::string row;
    row.reserve(size_bytes + 64);
    row.push_back(kRecord);
    row.push_back(kVersion);
    row.push_back(static_cast<char>(event));
    row.push_back(static_cast<char>(origin));
    append_big_endian(row, static_cast<uint64_t>(now_us));
    append_varint(row, size_bytes);
    row.push_back(static_cast<char>((has_keys ? kHasKeys : 0) |
                                    (new_image != nullptr ? kHasNew : 0) |
                                    (old_image != nullptr ? kHasOld : 0)));
    if (has_keys) append_string(row, model::encode_item(key));
    if (new_image != nullptr) append_image(row, *new_image);
    if (old_image != nullptr) append_image(row, *old_image);
    batch.append(catalog::shard_prefix({table.number, capture.stream}, capture.shard_of(hash)),
                 std::move(row));
  }
}

std::optional<StreamRecord> decode_stream_record(std::string_view row) {
  if (row.empty()) throw CorruptRecord("empty row of a stream");
  if (row == catalog::kShardOpened || row == catalog::kShardClosed) return std::nullopt;
  if (row.size() < 4 || row[0] != kRecord || row[1] != kVersion)
    throw CorruptRecord("row of a stream of an unknown kind");
  StreamRecord record;
  const auto event = static_cast<unsigned char>(row[2]);
  if (event > static_cast<unsigned char>(StreamEvent::kRemove))
    throw CorruptRecord("row of a stream with an unknown event");
  record.event = static_cast<StreamEvent>(event);
  record.origin = static_cast<model::Origin>(row[3]);
  row.remove_prefix(4);
  record.written_us = static_cast<int64_t>(read_big_endian<uint64_t>(row));
  record.size_bytes = read_varint(row);
  const auto parts = static_cast<unsigned char>(read_bytes(row, 1)[0]);
  if ((parts & kHasKeys) != 0) record.keys = read_string(row);
  if ((parts & kHasNew) != 0) record.new_image = read_string(row);
  if ((parts & kHasOld) != 0) record.old_image = read_string(row);
  return record;
}

}  // namespace stator::store

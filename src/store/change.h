// The one function that turns (old image, new image, table) into what is written, for every writer.
#pragma once

#include <optional>
#include <string_view>

#include "engine/engine.h"
#include "model/codec.h"
#include "model/schema.h"
#include "model/value.h"
#include "store/store.h"

namespace stator::store {

// An item as it was or will be. `item` is null where only its size was needed (see needs_old_item).
struct Image {
  const model::Item* item = nullptr;
  size_t size_bytes = 0;
  std::string_view encoded = {};  // the item as model::encode_item would; empty if not at hand
};

// Whether write_change has to see the attributes of the old image of an item of this table.
bool needs_old_item(const model::TableSchema& table);

// An index entry larger than that is not worth copying: it holds only keys.
inline constexpr size_t kMaxCopiedEntryBytes = 4096;

// How a change is made.
struct ChangeRules {
  // For each index of the schema that is being built: the old image has no entry there yet. Null
  // where no index is.
  const std::vector<bool>* missing = nullptr;
  size_t max_copied_bytes = kMaxCopiedEntryBytes;
  model::Origin origin = model::Origin::kClient;  // who changes the item
};

// When an item of this table expires, in seconds; nothing if it does not.
std::optional<int64_t> expiry_of(const model::TableSchema& table, const model::Item& item);

// Queues an item that expires.
void write_expiry(const model::TableSchema& table, const model::Item& item,
                  const std::string& item_key, engine::Batch& batch);

// Appends to `batch` what changes `old` into `fresh` (either may be absent): the item, its index
// entries, the counters, the records of its streams. Returns the units that it costs.
WriteUnits write_change(const model::TableSchema& table, const std::optional<Image>& old,
                        const std::optional<Image>& fresh, const std::string& item_key,
                        int64_t now_us, engine::Batch& batch, const ChangeRules& rules = {});

// Writes the entry of one item in one index, which has none yet.
void write_new_entry(const model::TableSchema& table, const model::Index& index, const Image& image,
                     int64_t now_us, engine::Batch& batch);

// The part of an item that an index holds.
model::Item project_entry(const model::Index& index, const model::Item& item);

}  // namespace stator::store

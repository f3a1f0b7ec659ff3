// A memtable for RocksDB in place of its own: with an index from each key to its newest version, so
// that a look-up of one key, which every request makes, is a hash and one comparison; with a list
// of keys that compares numbers for most steps; and with each key's versions in a chain. See
// docs/decisions/memtable.md.
#pragma once

#include <rocksdb/memtablerep.h>

#include <cstdint>

namespace stator::engine {

// For keys in the order of their bytes, one writer at a time and any number of readers.
class IndexedMemtableFactory final : public rocksdb::MemTableRepFactory {
 public:
  static const char* kClassName() { return "IndexedMemtable"; }
  const char* Name() const override { return kClassName(); }
  using MemTableRepFactory::CreateMemTableRep;
  rocksdb::MemTableRep* CreateMemTableRep(const rocksdb::MemTableRep::KeyComparator& compare,
                                          rocksdb::Allocator* allocator,
                                          const rocksdb::SliceTransform* transform,
                                          rocksdb::Logger* logger) override;
  bool CanHandleDuplicatedKey() const override { return true; }
};

// As long as it is there, the iterators that this thread makes are for a snapshot with this
// sequence number: they come to at most one version of each key in a memtable, the newest that the
// snapshot has. (Without merges, which are not used, a snapshot needs no other.)
class ReadingAt {
 public:
  explicit ReadingAt(uint64_t sequence);
  ~ReadingAt();
  ReadingAt(const ReadingAt&) = delete;
  ReadingAt& operator=(const ReadingAt&) = delete;
};

}  // namespace stator::engine

// A memtable for RocksDB in place of its own: with an index from each key to its newest version, so
// that a look-up of one key, which every request makes, is a hash and one comparison; and with a
// list that compares numbers for most steps. See docs/decisions/memtable.md.
#pragma once

#include <rocksdb/memtablerep.h>

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

}  // namespace stator::engine

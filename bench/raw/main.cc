// RocksDB by itself, to compare with: what opening it takes, and how fast its iterator is.
//
//   bench_raw open DIR     milliseconds to open a store there (created if there is none)
//   bench_raw scan ROWS    rows a second of its iterator over so many rows of about 200 bytes in
//   memory
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

[[noreturn]] void fail(const rocksdb::Status& status) {
  std::fprintf(stderr, "bench_raw: %s\n", status.ToString().c_str());
  std::exit(1);
}

// What matters for reading is as in the server.
rocksdb::Options options() {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_size = 8 * 1024;
  rocksdb::Options result;
  result.create_if_missing = true;
  result.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return result;
}

int open(const std::string& directory) {
  const auto begin = Clock::now();
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options(), directory, &db);
  if (!status.ok()) fail(status);
  std::printf("%.3f\n", seconds_since(begin) * 1000);
  delete db;
  return 0;
}

int scan(long rows) {
  const std::unique_ptr<rocksdb::Env> env(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  rocksdb::Options in_memory = options();
  in_memory.env = env.get();
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(in_memory, "/raw", &opened);
  if (!status.ok()) fail(status);
  const std::unique_ptr<rocksdb::DB> db(opened);
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  std::string key(30, 'k');
  const std::string value(220, 'v');
  for (long i = 0; i < rows; ++i) {
    // Spread like hashed keys.
    uint64_t spread = static_cast<uint64_t>(i) * 0x9E3779B97F4A7C15;
    for (size_t b = 0; b < 8; ++b) key[10 + b] = static_cast<char>(spread >> (56 - 8 * b));
    db->Put(unlogged, key, value);
  }
  double best = 0;
  for (int round = 0; round < 3; ++round) {
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
    size_t bytes = 0;
    long seen = 0;
    const auto begin = Clock::now();
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      bytes += at->key().size() + at->value().size();
      ++seen;
    }
    if (!at->status().ok() || bytes == 0) fail(at->status());
    best = std::max(best, static_cast<double>(seen) / seconds_since(begin));
  }
  std::printf("%.0f\n", best);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  if (what == "open") return open(argv[2]);
  if (what == "scan") return scan(std::atol(argv[2]));
  std::fprintf(stderr, "usage: bench_raw open DIR | scan ROWS\n");
  return 2;
}

// Another DynamoDB endpoint, read with a parallel scan.
#include <stdexcept>

#include "moving/item_source.h"
#include "moving/scan.h"

namespace stator::moving {

namespace {

class OtherEndpoint final : public Source {
 public:
  OtherEndpoint(std::unique_ptr<client::Endpoint> endpoint, std::string table, size_t segments)
      : endpoint_(std::move(endpoint)), table_(std::move(table)), segments_(segments) {
    const ScannedTable there = describe_table(*endpoint_, table_);
    definition_ = {table_, there.create_request};
    items_ = static_cast<uint64_t>(there.item_count);
  }
  TableDefinition definition() const override { return definition_; }
  size_t part_count() const override { return segments_; }
  std::unique_ptr<PartReader> open(size_t part, const std::string& position) override {
    return open_segment(*endpoint_, table_, part, segments_, position);
  }
  uint64_t total() const override { return items_; }
  bool counts_bytes() const override { return false; }

 private:
  std::unique_ptr<client::Endpoint> endpoint_;
  const std::string table_;
  const size_t segments_;
  TableDefinition definition_;
  uint64_t items_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_other_endpoint(const SourceOptions& options,
                                            const client::Environment& environment) {
  if (options.table.empty())
    throw std::runtime_error("--from is an endpoint: name its table with --table");
  client::EndpointOptions endpoint;
  endpoint.url = options.from;
  endpoint.region = options.region;
  endpoint.profile = options.profile;
  return std::make_unique<OtherEndpoint>(client::open_endpoint(endpoint, environment),
                                         options.table, options.segments);
}

}  // namespace stator::moving

#include "objects/object_store.h"

namespace stator::objects {

std::string ObjectStore::put(const std::string& bucket, const std::string& key,
                             std::string_view bytes) {
  const auto writing = upload(bucket, key);
  writing->write(bytes);
  return writing->finish();
}

std::unique_ptr<ObjectStore> open(const Options& options, const Clock& clock) {
  if (options.s3) return open_s3(*options.s3, clock);
  if (options.root.empty()) return open_temporary_folder();
  return open_folder(options.root);
}

}  // namespace stator::objects

#include "moving/embedded.h"

#include "common/task.h"
#include "database/database.h"

namespace stator::moving {

namespace {

class Directory final : public client::Endpoint {
 public:
  explicit Directory(const std::filesystem::path& directory) : name_(directory.string()) {
    DatabaseOptions options;
    options.directory = directory;
    database_ = Database::open(options);
  }
  client::Reply send(std::string_view operation, std::string body) override {
    Answer answer =
        run_blocking(database_->execute("DynamoDB_20120810", operation, std::move(body), Caller{}));
    return {answer.status, std::move(answer.body)};
  }
  std::string name() const override { return name_; }

 private:
  const std::string name_;
  std::unique_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<client::Endpoint> open_directory(const std::filesystem::path& directory) {
  return std::make_unique<Directory>(directory);
}

}  // namespace stator::moving

// Every wire case, in process: on the embedded engine and on the engine that misbehaves within its
// contract.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/wire_case.h"

namespace stator::testing {
namespace {

const std::string kFolder = std::string(STATOR_SOURCE_DIR) + "/tests/wire";

class WireTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void run(uint64_t adversary_seed) {
    DatabaseOptions options;
    options.durability = engine::Durability::kMemory;
    options.adversary_seed = adversary_seed;
    const auto database = Database::open(options);
    const WireReport report = run_wire_file(kFolder + "/" + GetParam(), *database);
    for (const WireFailure& failure : report.failures)
      ADD_FAILURE() << failure.where << "\n  " << failure.what;
  }
};

TEST_P(WireTest, AnswersAsTheServiceDoes) {
  run(0);
}
TEST_P(WireTest, AnswersTheSameOnAnEngineThatMisbehaves) {
  run(20261115);
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const std::string& file : wire_files(kFolder))
    result.push_back(std::filesystem::relative(file, kFolder));
  return result;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(0, info.param.size() - 5);
  for (char& c : name) {
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, WireTest, ::testing::ValuesIn(names()), test_name);

}  // namespace
}  // namespace stator::testing

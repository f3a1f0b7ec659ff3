// Wire cases: a request and its expected answer, as data (tests/wire/README.md says how a file
// reads).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "json/reader.h"

namespace stator::testing {

// The JSON text that a template stands for: generators ($repeat, $nest, $list) are replaced by what
// they make.
std::string expand(const json::Element& pattern);

// Empty if `actual` is what `expected` asks for, else where and how it differs.
std::string difference(const json::Element& expected, const json::Element& actual,
                       const std::string& path = "$");

struct WireFailure {
  std::string where;
  std::string what;
};

struct WireReport {
  size_t cases = 0;
  size_t steps = 0;
  std::vector<WireFailure> failures;
};

// Runs every case of the file on `database`.
WireReport run_wire_file(const std::string& file, Database& database);

std::vector<std::string> wire_files(const std::string& folder);

}  // namespace stator::testing

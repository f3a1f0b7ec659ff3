// Attribute values and items. Plain value types: copied deep, moved cheaply, shared by no one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/number.h"

namespace stator::model {

enum class Type : uint8_t {
  kString,
  kNumber,
  kBinary,
  kBool,
  kNull,
  kMap,
  kList,
  kStringSet,
  kNumberSet,
  kBinarySet,
};

// "S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS".
std::string_view type_name(Type type);

class Value;
struct Attribute;

using List = std::vector<Value>;

// Attributes by name, sorted by the bytes of the name. An item is a Map.
class Map {
 public:
  Map();
  Map(const Map&);
  Map(Map&&) noexcept;
  Map& operator=(const Map&);
  Map& operator=(Map&&) noexcept;
  ~Map();

  size_t size() const;
  bool empty() const { return size() == 0; }
  const Value* find(std::string_view name) const;
  Value* find(std::string_view name);
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Adds or replaces.
  void set(std::string_view name, Value value);
  // False if there was none.
  bool erase(std::string_view name);
  void reserve(size_t count);
  // Adds at the end; the caller knows that `name` sorts after every name here.
  void append_sorted(std::string name, Value value);

  const Attribute* begin() const;
  const Attribute* end() const;
  Attribute* begin();
  Attribute* end();

  bool operator==(const Map& other) const;

 private:
  std::vector<Attribute> attributes_;
};

using Item = Map;

class Value {
 public:
  struct Null {
    bool operator==(const Null&) const = default;
  };
  // Wrappers give each alternative a type of its own; sets are sorted and have no duplicates.
  struct String {
    std::string text;
    bool operator==(const String&) const = default;
  };
  struct Binary {
    std::string bytes;
    bool operator==(const Binary&) const = default;
  };
  struct StringSet {
    std::vector<std::string> members;
    bool operator==(const StringSet&) const = default;
  };
  struct NumberSet {
    std::vector<Number> members;
    bool operator==(const NumberSet&) const = default;
  };
  struct BinarySet {
    std::vector<std::string> members;
    bool operator==(const BinarySet&) const = default;
  };

 private:
  using Data =
      std::variant<String, Number, Binary, bool, Null, Map, List, StringSet, NumberSet, BinarySet>;

 public:
  Value() : data_(Null{}) {}
  static Value string(std::string text) { return Value(Data(String{std::move(text)})); }
  static Value number(Number number) { return Value(Data(number)); }
  static Value binary(std::string bytes) { return Value(Data(Binary{std::move(bytes)})); }
  static Value boolean(bool truth) { return Value(Data(truth)); }
  static Value null() { return Value(); }
  static Value map(Map map) { return Value(Data(std::move(map))); }
  static Value list(List list) { return Value(Data(std::move(list))); }
  // Sorts; the caller has made sure that there are no duplicates.
  static Value string_set(std::vector<std::string> members);
  static Value number_set(std::vector<Number> members);
  static Value binary_set(std::vector<std::string> members);

  Type type() const;
  bool is(Type t) const { return type() == t; }
  bool is_set() const { return type() >= Type::kStringSet; }

  // The alternative named; undefined if it is another.
  const std::string& as_string() const { return std::get<String>(data_).text; }
  const Number& as_number() const { return std::get<Number>(data_); }
  const std::string& as_binary() const { return std::get<Binary>(data_).bytes; }
  bool as_bool() const { return std::get<bool>(data_); }
  const Map& as_map() const { return std::get<Map>(data_); }
  Map& as_map() { return std::get<Map>(data_); }
  const List& as_list() const { return std::get<List>(data_); }
  List& as_list() { return std::get<List>(data_); }
  const std::vector<std::string>& as_string_set() const {
    return std::get<StringSet>(data_).members;
  }
  const std::vector<Number>& as_number_set() const { return std::get<NumberSet>(data_).members; }
  const std::vector<std::string>& as_binary_set() const {
    return std::get<BinarySet>(data_).members;
  }

  // Equal type and content; sets without regard to order, numbers by value.
  bool operator==(const Value& other) const = default;

 private:
  explicit Value(Data data) : data_(std::move(data)) {}
  Data data_;
};

struct Attribute {
  std::string name;
  Value value;
  bool operator==(const Attribute&) const = default;
};

// Order of two values of the same scalar type (string and binary by bytes, numbers by value).
// Undefined for others.
std::strong_ordering compare_scalars(const Value& a, const Value& b);

// Sizes by DynamoDB's rules: of a value, of an attribute with its name, of a whole item.
size_t size_bytes(const Value& value);
size_t size_bytes(const Item& item);

}  // namespace stator::model

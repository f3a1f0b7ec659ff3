#include "model/codec.h"

#include "common/bytes.h"

namespace stator::model {

namespace {

constexpr char kCodecVersion = 1;
constexpr char kReferenceVersion = 2;  // as 1, of an entry that holds only keys
// Deeper than any item can be; a bound against damaged records.
constexpr int kMaxDepth = 64;

void encode_map(const Map& map, std::string& out) {
  append_varint(out, map.size());
  for (const Attribute& attribute : map) {
    append_string(out, attribute.name);
    encode_value(attribute.value, out);
  }
}

Value decode_nested(std::string_view& in, int depth);

Map decode_map(std::string_view& in, int depth) {
  const uint64_t count = read_varint(in);
  if (count > in.size()) throw CorruptRecord("map longer than its record");
  Map map;
  map.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    std::string name(read_string(in));
    map.append_sorted(std::move(name), decode_nested(in, depth));
  }
  return map;
}

std::vector<std::string> decode_strings(std::string_view& in) {
  const uint64_t count = read_varint(in);
  if (count > in.size()) throw CorruptRecord("set longer than its record");
  std::vector<std::string> members;
  members.reserve(count);
  for (uint64_t i = 0; i < count; ++i) members.emplace_back(read_string(in));
  return members;
}

Value decode_nested(std::string_view& in, int depth) {
  if (depth > kMaxDepth) throw CorruptRecord("record nested too deep");
  if (in.empty()) throw CorruptRecord("record ends before a value");
  const auto type = static_cast<unsigned char>(in.front());
  in.remove_prefix(1);
  switch (static_cast<Type>(type & 0x0F)) {
    case Type::kString:
      return Value::string(std::string(read_string(in)));
    case Type::kNumber:
      return Value::number(Number::decode(in));
    case Type::kBinary:
      return Value::binary(std::string(read_string(in)));
    case Type::kBool:
      return Value::boolean((type & 0x10) != 0);
    case Type::kNull:
      return Value::null();
    case Type::kMap:
      return Value::map(decode_map(in, depth + 1));
    case Type::kList: {
      const uint64_t count = read_varint(in);
      if (count > in.size()) throw CorruptRecord("list longer than its record");
      List list;
      list.reserve(count);
      for (uint64_t i = 0; i < count; ++i) list.push_back(decode_nested(in, depth + 1));
      return Value::list(std::move(list));
    }
    case Type::kStringSet:
      return Value::string_set(decode_strings(in));
    case Type::kNumberSet: {
      const uint64_t count = read_varint(in);
      if (count > in.size()) throw CorruptRecord("set longer than its record");
      std::vector<Number> members;
      members.reserve(count);
      for (uint64_t i = 0; i < count; ++i) members.push_back(Number::decode(in));
      return Value::number_set(std::move(members));
    }
    case Type::kBinarySet:
      return Value::binary_set(decode_strings(in));
  }
  throw CorruptRecord("unknown type of value");
}

}  // namespace

void encode_value(const Value& value, std::string& out) {
  const Type type = value.type();
  const bool truth = type == Type::kBool && value.as_bool();
  out.push_back(static_cast<char>(static_cast<uint8_t>(type) | (truth ? 0x10 : 0)));
  switch (type) {
    case Type::kString:
      append_string(out, value.as_string());
      return;
    case Type::kNumber:
      value.as_number().encode(out);
      return;
    case Type::kBinary:
      append_string(out, value.as_binary());
      return;
    case Type::kBool:
    case Type::kNull:
      return;
    case Type::kMap:
      encode_map(value.as_map(), out);
      return;
    case Type::kList:
      append_varint(out, value.as_list().size());
      for (const Value& element : value.as_list()) encode_value(element, out);
      return;
    case Type::kStringSet:
      append_varint(out, value.as_string_set().size());
      for (const auto& member : value.as_string_set()) append_string(out, member);
      return;
    case Type::kNumberSet:
      append_varint(out, value.as_number_set().size());
      for (const auto& member : value.as_number_set()) member.encode(out);
      return;
    case Type::kBinarySet:
      append_varint(out, value.as_binary_set().size());
      for (const auto& member : value.as_binary_set()) append_string(out, member);
      return;
  }
}

Value decode_value(std::string_view& in) {
  return decode_nested(in, 0);
}

std::string encode_record(const Item& item, const RecordHeader& header) {
  std::string out;
  if (!header.reference) out.reserve(header.size_bytes + 16 + item.size() * 3);
  out.push_back(header.reference ? kReferenceVersion : kCodecVersion);
  out.push_back(static_cast<char>(header.origin));
  append_big_endian(out, static_cast<uint64_t>(header.written_us));
  append_varint(out, header.size_bytes);
  encode_map(item, out);
  return out;
}

RecordHeader read_header(std::string_view& record) {
  if (record.size() < 2) throw CorruptRecord("record without a header");
  if (record[0] != kCodecVersion && record[0] != kReferenceVersion) {
    throw CorruptRecord("record of an unknown codec version");
  }
  RecordHeader header;
  header.reference = record[0] == kReferenceVersion;
  header.origin = static_cast<Origin>(record[1]);
  record.remove_prefix(2);
  header.written_us = static_cast<int64_t>(read_big_endian<uint64_t>(record));
  header.size_bytes = read_varint(record);
  return header;
}

Item decode_item(std::string_view encoded) {
  Item item = decode_map(encoded, 0);
  if (!encoded.empty()) throw CorruptRecord("bytes after the end of a record");
  return item;
}

std::string encode_item(const Item& item) {
  std::string out;
  encode_map(item, out);
  return out;
}

Item decode_record(std::string_view record) {
  read_header(record);
  return decode_item(record);
}

}  // namespace stator::model

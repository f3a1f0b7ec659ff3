// DynamoDB's number: a decimal of up to 38 significant digits between 1E-130 and 9.99...E+125, of
// either sign, or zero. A value type; always in normal form, so equal numbers have equal
// representations.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stator::model {

class Number {
 public:
  enum class ParseError { kNone, kNotANumber, kTooManyDigits, kOverflow, kUnderflow };

  Number() = default;  // zero
  static Number from_int(int64_t value);
  // Reads what DynamoDB accepts as a number ("1", "-1.50", "+.5e-3").
  static std::optional<Number> parse(std::string_view text, ParseError* error = nullptr);

  bool is_zero() const { return coefficient_ == 0; }
  bool is_negative() const { return negative_; }
  // The value if it is a whole number that fits.
  std::optional<int64_t> to_int64() const;
  // Plain decimal digits without an exponent, as the service writes numbers: "0.015", "-12000".
  std::string to_string() const;
  void append_to(std::string& out) const;

  // Bytes that this number counts for in an item's size.
  size_t size_bytes() const;

  // nullopt: the result leaves the range (`error` says how) or needs more than 38 digits.
  static std::optional<Number> add(const Number& a, const Number& b, ParseError* error = nullptr);
  static std::optional<Number> subtract(const Number& a, const Number& b,
                                        ParseError* error = nullptr);
  Number negated() const;

  std::strong_ordering operator<=>(const Number& other) const;
  bool operator==(const Number& other) const = default;

  // Bytes whose order is the order of numbers; self-delimiting.
  void encode_ordered(std::string& out) const;
  // Reads what encode_ordered wrote and removes it from the front of `in`. Throws CorruptRecord.
  static Number decode_ordered(std::string_view& in);

  // Short encoding for stored items; self-delimiting.
  void encode(std::string& out) const;
  // Throws CorruptRecord.
  static Number decode(std::string_view& in);

 private:
  using Coefficient = unsigned __int128;
  static std::optional<Number> make(bool negative, Coefficient coefficient, int exponent,
                                    ParseError* error);
  int digits() const;

  // value = (-1)^negative * coefficient * 10^exponent; the coefficient has no trailing zero digit.
  Coefficient coefficient_ = 0;
  int16_t exponent_ = 0;
  bool negative_ = false;
};

}  // namespace stator::model

#include "model/number.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "common/bytes.h"

namespace stator::model {

namespace {

using Coefficient = unsigned __int128;

constexpr int kMaxDigits = 38;
constexpr int kMaxMagnitude = 125;   // of the first digit: 9.99...E+125
constexpr int kMinMagnitude = -130;  // 1E-130
constexpr int kExponentBias = 170;   // of the stored form; exponents run from -130-37 to 125

constexpr std::array<Coefficient, kMaxDigits + 1> make_powers() {
  std::array<Coefficient, kMaxDigits + 1> powers{};
  powers[0] = 1;
  for (int i = 1; i <= kMaxDigits; ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}
constexpr auto kPowers = make_powers();

int count_digits(Coefficient value) {
  const auto* above = std::upper_bound(kPowers.begin(), kPowers.end(), value);
  return static_cast<int>(above - kPowers.begin());
}

// The digits of `value`, most significant first.
int write_digits(Coefficient value, char* out) {
  const int count = count_digits(value);
  for (int i = count - 1; i >= 0; --i) {
    out[i] = static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  }
  return count;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<Number> fail(Number::ParseError* error, Number::ParseError kind) {
  if (error != nullptr) *error = kind;
  return std::nullopt;
}

}  // namespace

int Number::digits() const {
  return count_digits(coefficient_);
}

Number Number::from_int(int64_t value) {
  const bool negative = value < 0;
  const auto magnitude =
      negative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  return *make(negative, magnitude, 0, nullptr);
}

std::optional<Number> Number::make(bool negative, Coefficient coefficient, int exponent,
                                   ParseError* error) {
  Number number;
  if (coefficient == 0) return number;
  while (coefficient % 10 == 0) {
    coefficient /= 10;
    ++exponent;
  }
  const int count = count_digits(coefficient);
  if (count > kMaxDigits) return fail(error, ParseError::kTooManyDigits);
  const int magnitude = exponent + count - 1;
  if (magnitude > kMaxMagnitude) return fail(error, ParseError::kOverflow);
  if (magnitude < kMinMagnitude) return fail(error, ParseError::kUnderflow);
  number.negative_ = negative;
  number.coefficient_ = coefficient;
  number.exponent_ = static_cast<int16_t>(exponent);
  return number;
}

std::optional<Number> Number::parse(std::string_view text, ParseError* error) {
  size_t at = 0;
  bool negative = false;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) negative = text[at++] == '-';
  Coefficient coefficient = 0;
  int kept = 0;          // significant digits in coefficient
  int64_t exponent = 0;  // of the coefficient
  int64_t zeros = 0;     // zeros after the last digit kept, not yet multiplied in
  bool any = false;
  bool too_many = false;
  bool fraction = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.') {
      if (fraction) return fail(error, ParseError::kNotANumber);
      fraction = true;
      continue;
    }
    if (!is_digit(c)) break;
    any = true;
    if (fraction) --exponent;
    if (c == '0') {
      if (kept > 0)
        ++zeros;
      else if (!fraction)
        continue;
      continue;
    }
    const int64_t grow = kept == 0 ? 1 : zeros + 1;
    if (kept + grow > kMaxDigits) {
      too_many = true;
    } else {
      coefficient = coefficient * (kept == 0 ? 1 : kPowers[static_cast<size_t>(grow)]) +
                    static_cast<unsigned>(c - '0');
    }
    kept = static_cast<int>(std::min<int64_t>(kept + grow, 1'000'000));
    zeros = 0;
  }
  if (!any) return fail(error, ParseError::kNotANumber);
  if (at < text.size()) {
    if (text[at] != 'e' && text[at] != 'E') return fail(error, ParseError::kNotANumber);
    ++at;
    bool negative_exponent = false;
    if (at < text.size() && (text[at] == '-' || text[at] == '+'))
      negative_exponent = text[at++] == '-';
    if (at >= text.size()) return fail(error, ParseError::kNotANumber);
    // An exponent past 64 bits is not a number to the service; one inside is range-checked.
    unsigned __int128 given = 0;
    for (; at < text.size(); ++at) {
      if (!is_digit(text[at])) return fail(error, ParseError::kNotANumber);
      given = given * 10 + static_cast<unsigned>(text[at] - '0');
      if (given > static_cast<unsigned __int128>(INT64_MAX))
        return fail(error, ParseError::kNotANumber);
    }
    const auto bounded = static_cast<int64_t>(std::min<unsigned __int128>(given, 1'000'000'000));
    exponent += negative_exponent ? -bounded : bounded;
    // Zero is range-checked by the exponent it is written with.
    if (coefficient == 0 && !too_many) {
      if (!negative_exponent && bounded > kMaxMagnitude) return fail(error, ParseError::kOverflow);
      if (negative_exponent && -bounded < kMinMagnitude) return fail(error, ParseError::kUnderflow);
    }
  }
  if (coefficient == 0 && !too_many) return Number();
  // Magnitude of the first digit; the range is checked before the number of digits.
  const int64_t magnitude = exponent + zeros + kept - 1;
  if (magnitude > kMaxMagnitude) return fail(error, ParseError::kOverflow);
  if (magnitude < kMinMagnitude) return fail(error, ParseError::kUnderflow);
  if (too_many) return fail(error, ParseError::kTooManyDigits);
  return make(negative, coefficient, static_cast<int>(exponent + zeros), error);
}

std::optional<int64_t> Number::to_int64() const {
  if (exponent_ < 0 || exponent_ > 18) {
    if (coefficient_ == 0) return 0;
    return std::nullopt;
  }
  const int count = digits();
  if (count + exponent_ > 19) return std::nullopt;
  const Coefficient value = coefficient_ * kPowers[static_cast<size_t>(exponent_)];
  const Coefficient limit = static_cast<Coefficient>(INT64_MAX) + (negative_ ? 1 : 0);
  if (value > limit) return std::nullopt;
  const auto low = static_cast<uint64_t>(value);
  return negative_ ? static_cast<int64_t>(~low + 1) : static_cast<int64_t>(low);
}

void Number::append_to(std::string& out) const {
  if (coefficient_ == 0) {
    out.push_back('0');
    return;
  }
  if (negative_) out.push_back('-');
  char buffer[kMaxDigits + 2];
  const int count = write_digits(coefficient_, buffer);
  if (exponent_ >= 0) {
    out.append(buffer, static_cast<size_t>(count));
    out.append(static_cast<size_t>(exponent_), '0');
    return;
  }
  const int whole = count + exponent_;
  if (whole > 0) {
    out.append(buffer, static_cast<size_t>(whole));
    out.push_back('.');
    out.append(buffer + whole, static_cast<size_t>(count - whole));
    return;
  }
  out.append("0.");
  out.append(static_cast<size_t>(-whole), '0');
  out.append(buffer, static_cast<size_t>(count));
}

std::string Number::to_string() const {
  std::string out;
  append_to(out);
  return out;
}

// One byte, one for two digits on each side of the point (without zeros at either end), one for a
// minus sign. Measured on the service to the byte (paritysuite, capture of 2026-08-18); the
// developer guide's rule is an approximation.
size_t Number::size_bytes() const {
  if (coefficient_ == 0) return 1;
  const int count = digits();
  const int whole = exponent_ >= 0 ? count : std::max(0, count + exponent_);
  const int fraction = count - whole;
  return 1 + static_cast<size_t>((whole + 1) / 2) + static_cast<size_t>((fraction + 1) / 2) +
         (negative_ ? 1 : 0);
}

Number Number::negated() const {
  Number result = *this;
  if (coefficient_ != 0) result.negative_ = !negative_;
  return result;
}

std::optional<Number> Number::add(const Number& a, const Number& b, ParseError* error) {
  if (a.is_zero()) return b;
  if (b.is_zero()) return a;
  const Number& high = a.exponent_ >= b.exponent_ ? a : b;
  const Number& low = a.exponent_ >= b.exponent_ ? b : a;
  const int shift = high.exponent_ - low.exponent_;
  // Both coefficients have at most 38 digits; a shift that would pass 38 digits cannot give a
  // result of 38 digits or fewer unless digits cancel, and they cannot cancel below the lower
  // number's last digit.
  if (high.digits() + shift > kMaxDigits + 1) return fail(error, ParseError::kTooManyDigits);
  if (shift > kMaxDigits) return fail(error, ParseError::kTooManyDigits);
  const Coefficient high_digits = high.coefficient_;
  // 39 digits may leave 128 bits: 10^39 > 2^128. Guard by division.
  const Coefficient scale = kPowers[static_cast<size_t>(shift)];
  if (high_digits > (~static_cast<Coefficient>(0)) / scale)
    return fail(error, ParseError::kTooManyDigits);
  const Coefficient left = high_digits * scale;
  const Coefficient right = low.coefficient_;
  if (high.negative_ == low.negative_) {
    const Coefficient sum = left + right;
    if (sum < left) return fail(error, ParseError::kTooManyDigits);
    return make(high.negative_, sum, low.exponent_, error);
  }
  if (left >= right) return make(high.negative_, left - right, low.exponent_, error);
  return make(low.negative_, right - left, low.exponent_, error);
}

std::optional<Number> Number::subtract(const Number& a, const Number& b, ParseError* error) {
  return add(a, b.negated(), error);
}

std::strong_ordering Number::operator<=>(const Number& other) const {
  if (negative_ != other.negative_) {
    return negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (is_zero() || other.is_zero()) {
    if (is_zero() && other.is_zero()) return std::strong_ordering::equal;
    // The other is positive, or both are non-negative with one zero.
    return is_zero() ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  const auto magnitude_order = [](const Number& x, const Number& y) {
    const int mx = x.exponent_ + x.digits();
    const int my = y.exponent_ + y.digits();
    if (mx != my) return mx <=> my;
    // Same magnitude: compare digits aligned to 38.
    const Coefficient cx = x.coefficient_ * kPowers[static_cast<size_t>(kMaxDigits - x.digits())];
    const Coefficient cy = y.coefficient_ * kPowers[static_cast<size_t>(kMaxDigits - y.digits())];
    return cx <=> cy;
  };
  return negative_ ? magnitude_order(other, *this) : magnitude_order(*this, other);
}

// Zero is 0x80. A positive number is 0x80 plus a biased magnitude in one byte... the magnitude has
// 256 values, so two bytes are used: a sign byte (0x40 negative, 0x80 zero, 0xC0 positive), the
// biased magnitude, then the digits in pairs (each pair plus one, 1..100), ended by 0. All bytes
// after the sign are inverted for a negative number.
void Number::encode_ordered(std::string& out) const {
  if (coefficient_ == 0) {
    out.push_back(static_cast<char>(0x80));
    return;
  }
  char digits[kMaxDigits + 2];
  const int count = write_digits(coefficient_, digits);
  const int magnitude = exponent_ + count - 1;
  const size_t start = out.size() + 1;
  out.push_back(static_cast<char>(negative_ ? 0x40 : 0xC0));
  out.push_back(static_cast<char>(magnitude - kMinMagnitude));
  for (int i = 0; i < count; i += 2) {
    const int first = digits[i] - '0';
    const int second = i + 1 < count ? digits[i + 1] - '0' : 0;
    out.push_back(static_cast<char>(first * 10 + second + 1));
  }
  out.push_back('\0');
  if (negative_) {
    for (size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
  }
}

Number Number::decode_ordered(std::string_view& in) {
  const auto next = [&in] {
    if (in.empty()) throw CorruptRecord("key ends inside a number");
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    return byte;
  };
  const unsigned char sign = next();
  if (sign == 0x80) return Number();
  if (sign != 0x40 && sign != 0xC0) throw CorruptRecord("key with a number of no sign");
  const bool negative = sign == 0x40;
  const unsigned char flip = negative ? 0xFF : 0;
  const int magnitude = (next() ^ flip) + kMinMagnitude;
  Coefficient coefficient = 0;
  int count = 0;
  for (int pair = next() ^ flip; pair != 0; pair = next() ^ flip) {
    if (pair > 100 || count + 2 > kMaxDigits) throw CorruptRecord("key with a number of no form");
    coefficient = coefficient * 100 + static_cast<unsigned>(pair - 1);
    count += 2;
  }
  const auto number = make(negative, coefficient, magnitude - count + 1, nullptr);
  if (!number || number->is_zero()) throw CorruptRecord("key with a number out of range");
  return *number;
}

// A header byte: sign (1 bit), bytes of the coefficient (7 bits); then the exponent plus 170, low
// byte first; then the coefficient, most significant byte first. Zero is a single 0.
void Number::encode(std::string& out) const {
  if (coefficient_ == 0) {
    out.push_back('\0');
    return;
  }
  char bytes[16];
  int used = 0;
  for (Coefficient rest = coefficient_; rest != 0; rest >>= 8)
    bytes[used++] = static_cast<char>(rest & 0xFF);
  out.push_back(static_cast<char>((negative_ ? 0x80 : 0) | used));
  const int biased = exponent_ + kExponentBias;
  out.push_back(static_cast<char>(biased & 0xFF));
  out.push_back(static_cast<char>(biased >> 8));
  for (int i = used - 1; i >= 0; --i) out.push_back(bytes[i]);
}

// A number that is not in normal form would break comparisons, which index a table by its digits:
// only a damaged record holds one, and it is refused here.
Number Number::decode(std::string_view& in) {
  if (in.empty()) throw CorruptRecord("record ends before a number");
  const auto header = static_cast<unsigned char>(in[0]);
  if (header == 0) {
    in.remove_prefix(1);
    return Number();
  }
  const size_t used = header & 0x7F;
  if (used > sizeof(Coefficient)) throw CorruptRecord("number of too many bytes");
  if (in.size() < used + 3) throw CorruptRecord("record ends inside a number");
  const int exponent =
      (static_cast<unsigned char>(in[1]) | (static_cast<unsigned char>(in[2]) << 8)) -
      kExponentBias;
  Coefficient coefficient = 0;
  for (size_t i = 0; i < used; ++i)
    coefficient = (coefficient << 8) | static_cast<unsigned char>(in[3 + i]);
  in.remove_prefix(3 + used);
  const auto number = make((header & 0x80) != 0, coefficient, exponent, nullptr);
  if (!number || number->is_zero() || number->exponent_ != exponent)
    throw CorruptRecord("number not in normal form");
  return *number;
}

}  // namespace stator::model

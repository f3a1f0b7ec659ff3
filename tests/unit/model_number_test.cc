#include "model/number.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "common/bytes.h"

namespace stator::model {
namespace {

using Error = Number::ParseError;

const std::string kNines38(38, '9');

Number number(std::string_view text) {
  const auto parsed = Number::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Number());
}

Error error_of(std::string_view text) {
  Error error = Error::kNone;
  return Number::parse(text, &error) ? Error::kNone : error;
}

std::string zeros(size_t count) {
  return std::string(count, '0');
}

// A second, slow arithmetic to check the first one against: sign and digits around a fixed point.
struct Plain {
  static constexpr int kWhole = 130;
  static constexpr int kFraction = 170;
  bool negative = false;
  std::array<int, kWhole + kFraction> digits{};  // most significant first

  explicit Plain(const std::string& text) {
    const size_t start = text[0] == '-' ? 1 : 0;
    negative = start == 1;
    const size_t point = std::min(text.find('.'), text.size());
    for (size_t i = start; i < text.size(); ++i) {
      if (i == point) continue;
      const auto place = static_cast<int>(i < point ? point - i : point - i + 1);  // 1 is the units
      digits.at(static_cast<size_t>(kWhole - place)) = text[i] - '0';
    }
  }
  Plain() = default;

  int compare_magnitude(const Plain& other) const {
    return digits < other.digits ? -1 : (other.digits < digits ? 1 : 0);
  }
  bool is_zero() const {
    return std::all_of(digits.begin(), digits.end(), [](int digit) { return digit == 0; });
  }
  int compare(const Plain& other) const {
    if (negative != other.negative) return negative ? -1 : 1;
    return negative ? -compare_magnitude(other) : compare_magnitude(other);
  }

  Plain plus(const Plain& other) const {
    const bool add = negative == other.negative;
    const bool first_larger = compare_magnitude(other) >= 0;
    const Plain& large = first_larger ? *this : other;
    const Plain& small = first_larger ? other : *this;
    Plain sum;
    sum.negative = large.negative;
    int carry = 0;
    for (size_t i = digits.size(); i-- > 0;) {
      const int digit = large.digits[i] + (add ? small.digits[i] : -small.digits[i]) + carry;
      sum.digits[i] = (digit + 10) % 10;
      carry = digit < 0 ? -1 : digit / 10;
    }
    EXPECT_EQ(carry, 0);
    return sum;
  }

  // What a Number of this value writes, or why there is none.
  std::string text() const {
    if (is_zero()) return "0";
    int first = -1;
    int last = -1;
    for (int i = 0; i < kWhole + kFraction; ++i) {
      if (digits[static_cast<size_t>(i)] == 0) continue;
      if (first < 0) first = i;
      last = i;
    }
    const int magnitude = kWhole - 1 - first;
    if (magnitude > 125 || magnitude < -130 || last - first + 1 > 38) return "none";
    std::string out = negative ? "-" : "";
    for (int i = std::min(first, kWhole - 1); i <= std::max(last, kWhole - 1); ++i) {
      if (i == kWhole) out.push_back('.');
      out.push_back(static_cast<char>('0' + digits[static_cast<size_t>(i)]));
    }
    return out;
  }
};

class RandomNumbers {
 public:
  explicit RandomNumbers(unsigned seed) : random_(seed) {}

  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // Digits are often 0 or 9, so that carries and trailing zeros are frequent. `spread` is how far
  // from 1 the magnitude may be.
  Number next(int spread) {
    if (between(0, 49) == 0) return Number();
    const int count = between(0, 2) == 0 ? 38 : between(1, 38);
    std::string text = between(0, 1) == 0 ? "-" : "";
    text.push_back(static_cast<char>('1' + between(0, 8)));
    text.push_back('.');
    for (int i = 1; i < count; ++i) {
      const int kind = between(0, 3);
      text.push_back(static_cast<char>('0' + (kind == 0 ? 0 : (kind == 1 ? 9 : between(0, 9)))));
    }
    const int magnitude = between(std::max(-130, -spread), std::min(125, spread));
    return number(text + "e" + std::to_string(magnitude));
  }

  // Full range and close neighbours in turn.
  Number next() { return next(between(0, 1) == 0 ? 130 : 3); }

 private:
  std::mt19937 random_;
};

TEST(NumberParse, AcceptsEveryFormAndWritesItInNormalForm) {
  struct Case {
    std::string text;
    std::string written;
  };
  const std::vector<Case> cases = {
      {"0", "0"},
      {"-0", "0"},
      {"+0", "0"},
      {"0.0", "0"},
      {"-0.000", "0"},
      {".0", "0"},
      {"0.", "0"},
      {"00000", "0"},
      {"1", "1"},
      {"+5", "5"},
      {"-5", "-5"},
      {".5", "0.5"},
      {"-.5", "-0.5"},
      {"+.5e-3", "0.0005"},
      {"5.", "5"},
      {"1.e5", "100000"},
      {"1E5", "100000"},
      {"1e+5", "100000"},
      {"1E-5", "0.00001"},
      {"1e0005", "100000"},
      {"1e-0", "1"},
      {"0042.1200", "42.12"},
      {"-1.50", "-1.5"},
      {"100.5", "100.5"},
      {"0.0150", "0.015"},
      {"-12000", "-12000"},
      {"1.5e1", "15"},
      {"15e-1", "1.5"},
      {"150e-1", "15"},
      {"123456789012345678901234567890e-29", "1.2345678901234567890123456789"},
      {"1E125", "1" + zeros(125)},
      {"1e-130", "0." + zeros(129) + "1"},
      {"0." + zeros(200) + "1e130", "0." + zeros(70) + "1"},
      {"1" + zeros(200) + "e-200", "1"},
  };
  for (const Case& c : cases) {
    Error error = Error::kNone;
    const auto parsed = Number::parse(c.text, &error);
    ASSERT_TRUE(parsed) << c.text << " refused with " << static_cast<int>(error);
    EXPECT_EQ(parsed->to_string(), c.written) << c.text;
    EXPECT_EQ(*parsed, number(c.written)) << c.text;
  }
}

TEST(NumberParse, RefusesWhatIsNoNumber) {
  const std::vector<std::string> texts = {
      "",
      " ",
      "abc",
      "1.2.3",
      "..",
      ".",
      "+",
      "-",
      "+-1",
      "--1",
      " 1",
      "1 ",
      "1\t",
      "\n1",
      "0x10",
      "1e",
      "1e+",
      "1e-",
      "e5",
      "+e2",
      ".e5",
      "-.e5",
      "NaN",
      "nan",
      "Infinity",
      "-Infinity",
      "1+2",
      "1-2",
      "1e5.5",
      "1e5e",
      "1e 5",
      "1,000",
      "1_0",
      "1d",
      "1f",
      "1e--5",
      "1e5 ",
      "\xD9\xA1",
      "1a",
      "0e",
      "0e+",
      "-",
      "\xEF\xBC\x91",
      std::string("1\0", 2),
      std::string("\0", 1),
      "1e9223372036854775808",
      "1e-9223372036854775809",
      "1e99999999999999999999999999999999999999999999",
      "0e9223372036854775808",
  };
  for (const std::string& text : texts) EXPECT_EQ(error_of(text), Error::kNotANumber) << text;
}

TEST(NumberParse, Holds38SignificantDigitsAndNoMore) {
  struct Case {
    std::string text;
    Error error;
  };
  const std::vector<Case> cases = {
      {std::string(37, '9'), Error::kNone},
      {kNines38, Error::kNone},
      {"-" + kNines38, Error::kNone},
      {std::string(39, '9'), Error::kTooManyDigits},
      {"-" + std::string(39, '9'), Error::kTooManyDigits},
      {"1" + zeros(36) + "1", Error::kNone},
      {"1" + zeros(37) + "1", Error::kTooManyDigits},
      {"1." + zeros(36) + "1", Error::kNone},
      {"1." + zeros(37) + "1", Error::kTooManyDigits},
      // Zeros at either end do not count.
      {zeros(50) + kNines38 + zeros(50), Error::kNone},
      {"0." + zeros(50) + kNines38 + zeros(50), Error::kNone},
      {kNines38 + "." + zeros(50), Error::kNone},
      {kNines38 + "." + zeros(50) + "1", Error::kTooManyDigits},
      {std::string(500, '1') + "e-450", Error::kTooManyDigits},
  };
  for (const Case& c : cases) EXPECT_EQ(error_of(c.text), c.error) << c.text;
}

TEST(NumberParse, TellsBothEndsOfTheRange) {
  const std::string nines = "9." + std::string(37, '9');
  struct Case {
    std::string text;
    Error error;
  };
  const std::vector<Case> cases = {
      {"1e124", Error::kNone},
      {"1e125", Error::kNone},
      {nines + "e125", Error::kNone},
      {"1e126", Error::kOverflow},
      {"10e125", Error::kOverflow},
      {"0.1e127", Error::kOverflow},
      {"0.1e126", Error::kNone},
      {"1" + zeros(125), Error::kNone},
      {"1" + zeros(126), Error::kOverflow},
      {"1e-129", Error::kNone},
      {"1e-130", Error::kNone},
      {nines + "e-130", Error::kNone},
      {nines + "e-131", Error::kUnderflow},
      {"1e-131", Error::kUnderflow},
      {"0.1e-129", Error::kNone},
      {"0.1e-130", Error::kUnderflow},
      {"10e-131", Error::kNone},
      {"0." + zeros(129) + "1", Error::kNone},
      {"0." + zeros(130) + "1", Error::kUnderflow},
      {"1e2147483647", Error::kOverflow},
      {"1e2147483648", Error::kOverflow},
      {"1e-2147483648", Error::kUnderflow},
      {"1e9223372036854775807", Error::kOverflow},
      {"1e-9223372036854775807", Error::kUnderflow},
      // The range is checked before the digits are counted.
      {std::string(39, '9') + "e100", Error::kOverflow},
      {std::string(39, '9') + "e-200", Error::kUnderflow},
      {std::string(200, '9'), Error::kOverflow},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(error_of(c.text), c.error) << c.text;
    EXPECT_EQ(error_of("-" + c.text), c.error) << "-" << c.text;
  }
}

TEST(NumberParse, ChecksTheRangeOfZeroByItsWrittenExponent) {
  struct Case {
    std::string text;
    Error error;
  };
  const std::vector<Case> cases = {{"0e124", Error::kNone},         {"0e125", Error::kNone},
                                   {"0e126", Error::kOverflow},     {"0e-129", Error::kNone},
                                   {"0e-130", Error::kNone},        {"0e-131", Error::kUnderflow},
                                   {"-0e126", Error::kOverflow},    {"0.00e126", Error::kOverflow},
                                   {"0e0", Error::kNone},           {"0e999999", Error::kOverflow},
                                   {"0e-999999", Error::kUnderflow}};
  for (const Case& c : cases) {
    EXPECT_EQ(error_of(c.text), c.error) << c.text;
    if (c.error == Error::kNone) {
      EXPECT_EQ(number(c.text), Number());
    }
  }
}

TEST(NumberText, ReadsBackAsTheSameNumber) {
  RandomNumbers random(1);
  for (int i = 0; i < 3000; ++i) {
    const Number n = random.next();
    const std::string text = n.to_string();
    EXPECT_EQ(number(text), n) << text;
    EXPECT_EQ(text.find_first_of("eE+"), std::string::npos) << text;
    std::string appended = "x";
    n.append_to(appended);
    EXPECT_EQ(appended, "x" + text);
  }
}

TEST(NumberInt, GoesBothWaysAtTheEndsOf64Bits) {
  for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{1000}, int64_t{-1000},
                              INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1}) {
    EXPECT_EQ(Number::from_int(value).to_string(), std::to_string(value));
    EXPECT_EQ(Number::from_int(value).to_int64(), value);
  }
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "0.5", "1.5", "-0.1",
                           "1e19", "1e125", "10000000000000000000", "92233720368547758070"}) {
    EXPECT_FALSE(number(text).to_int64()) << text;
  }
  EXPECT_EQ(number("1e18").to_int64(), 1'000'000'000'000'000'000);
}

TEST(NumberOrder, FollowsValuesOfAnySignAndExponent) {
  const std::string nines = "9." + std::string(37, '9') + "e125";
  const std::vector<std::string> ascending = {
      "-" + nines, "-1e125",  "-123456", "-100.5",
      "-100",      "-99",     "-2",      "-1.000000000000000000000000000000001",
      "-1",        "-0.5",    "-0.15",   "-1e-129",
      "-1.5e-130", "-1e-130", "0",       "1e-130",
      "1.5e-130",  "1e-129",  "0.09",    "0.1",
      "0.15",      "0.5",     "1",       "1.000000000000000000000000000000001",
      "1.2",       "2",       "9",       "9.9",
      "10",        "11",      "99",      "100",
      "100.5",     "101",     "123456",  "1e100",
      "1e125",     nines};
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t k = 0; k < ascending.size(); ++k) {
      const Number a = number(ascending[i]);
      const Number b = number(ascending[k]);
      EXPECT_EQ(a <=> b, i <=> k) << ascending[i] << " against " << ascending[k];
      EXPECT_EQ(a == b, i == k);
    }
  }
  EXPECT_EQ(number("1.0"), number("1"));
  EXPECT_EQ(number("10e-1"), number("0.1e1"));
  EXPECT_EQ(number("-0"), number("0"));
}

TEST(NumberOrder, AgreesWithPlainDigitsOnRandomPairs) {
  RandomNumbers random(2);
  for (int i = 0; i < 5000; ++i) {
    const Number a = random.next();
    const Number b = random.between(0, 9) == 0 ? a.negated() : random.next();
    const int expected = Plain(a.to_string()).compare(Plain(b.to_string()));
    EXPECT_EQ(a <=> b, expected <=> 0) << a.to_string() << " against " << b.to_string();
  }
}

TEST(NumberSum, IsExactOrRefused) {
  struct Case {
    std::string a;
    std::string b;
    std::string sum;  // empty: refused with `error`
    Error error = Error::kNone;
  };
  const std::string nines125 = "9." + std::string(37, '9') + "e125";
  const std::vector<Case> cases = {
      {"0", "0", "0"},
      {"0", "5", "5"},
      {"5", "0", "5"},
      {"1", "2", "3"},
      {"0.1", "0.2", "0.3"},
      {"5", "5", "10"},
      {"999", "1", "1000"},
      {"99.99", "0.01", "100"},
      {"1", "-1", "0"},
      {"-1", "1", "0"},
      {"1", "-2", "-1"},
      {"-1.5", "-1.5", "-3"},
      {"1000", "-0.001", "999.999"},
      {"1e125", "-1e125", "0"},
      {"1e-130", "-1e-130", "0"},
      {"1e125", "1e88", "1" + zeros(36) + "1" + zeros(88)},
      {"1e125", "1e87", "", Error::kTooManyDigits},
      {"1e125", "1e-130", "", Error::kTooManyDigits},
      {"1e125", "-1e-130", "", Error::kTooManyDigits},
      // 38 digits at the edge: a carry out of them stays exact only if a zero can be dropped.
      {kNines38, "1", "1" + zeros(38)},
      {kNines38, kNines38, "", Error::kTooManyDigits},
      {kNines38, "2", "", Error::kTooManyDigits},
      {kNines38, "0.1", "", Error::kTooManyDigits},
      {"1" + zeros(37), "0.1", "", Error::kTooManyDigits},
      {"5" + zeros(37), "5" + zeros(37), "1" + zeros(38)},
      // One unit less than a power of ten needs a digit fewer than the power.
      {"1e38", "-1", kNines38},
      {"1e39", "-1", "", Error::kTooManyDigits},
      {"9e38", "-1", "", Error::kTooManyDigits},
      {"4e38", "1", "", Error::kTooManyDigits},
      {"1e38", "-" + kNines38, "1"},
      {"1e38", "1", "", Error::kTooManyDigits},
      {"3e38", "-" + kNines38, "", Error::kTooManyDigits},
      {"1.0000000000000000000000000000000000001", "-1", "0." + zeros(36) + "1"},
      // Leaving the range.
      {"9e125", "9e125", "", Error::kOverflow},
      {"-9e125", "-9e125", "", Error::kOverflow},
      {nines125, "1e88", "", Error::kOverflow},
      {"9e125", "9e124", "99" + zeros(124)},
      {"9e125", "1e125", "", Error::kOverflow},
      {"1.1e-130", "-1e-130", "", Error::kUnderflow},
      {"1.1e-130", "-0.1e-129", "", Error::kUnderflow},
      {"-1.1e-130", "1e-130", "", Error::kUnderflow},
      {"1.1e-130", "0.9e-129", "0." + zeros(128) + "101"},
  };
  for (const Case& c : cases) {
    for (const bool swapped : {false, true}) {
      const Number a = number(swapped ? c.b : c.a);
      const Number b = number(swapped ? c.a : c.b);
      Error error = Error::kNone;
      const auto sum = Number::add(a, b, &error);
      EXPECT_EQ(sum ? sum->to_string() : "", c.sum) << c.a << " + " << c.b;
      EXPECT_EQ(error, c.error) << c.a << " + " << c.b;
      const auto difference = Number::subtract(a, b.negated());
      EXPECT_EQ(sum, difference) << c.a << " + " << c.b;
    }
  }
}

TEST(NumberSum, NeedsNoPlaceForAnError) {
  EXPECT_FALSE(Number::add(number("9e125"), number("9e125")));
  EXPECT_FALSE(Number::subtract(number("1e125"), number("1")));
  EXPECT_FALSE(Number::parse("x"));
}

TEST(NumberSum, AgreesWithPlainDigitsOnRandomPairs) {
  RandomNumbers random(3);
  int exact = 0;
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const int spread = std::array{130, 40, 20, 2}[static_cast<size_t>(random.between(0, 3))];
    const Number a = random.next(spread);
    const Number b = random.between(0, 19) == 0 ? a.negated() : random.next(spread);
    const Plain pa(a.to_string());
    const Plain pb(b.to_string());
    const auto sum = Number::add(a, b);
    ASSERT_EQ(sum ? sum->to_string() : "none", pa.plus(pb).text())
        << a.to_string() << " + " << b.to_string();
    const auto difference = Number::subtract(a, b);
    Plain minus = pb;
    minus.negative = !pb.negative && !pb.is_zero();
    ASSERT_EQ(difference ? difference->to_string() : "none", pa.plus(minus).text())
        << a.to_string() << " - " << b.to_string();
    ++(sum ? exact : refused);
  }
  // Both outcomes were tried.
  EXPECT_GT(exact, 500);
  EXPECT_GT(refused, 500);
}

TEST(NumberSum, NegatesEverythingButZero) {
  EXPECT_EQ(number("1.5").negated().to_string(), "-1.5");
  EXPECT_EQ(number("-1.5").negated().to_string(), "1.5");
  EXPECT_EQ(Number().negated(), Number());
  EXPECT_FALSE(Number().negated().is_negative());
}

TEST(NumberSize, IsWhatTheServiceCharges) {
  struct Case {
    std::string text;
    size_t bytes;
  };
  const std::vector<Case> cases = {{"0", 1},       {"-0", 1},
                                   {"-42", 3},     {"0.0000001", 2},
                                   {"0.15", 2},    {"0042", 2},
                                   {"1", 2},       {"1.2", 3},
                                   {"1.200", 3},   {"1.234", 4},
                                   {"1.5", 3},     {"100", 2},
                                   {"100.5", 4},   {"1010", 3},
                                   {"12", 2},      {"123", 3},
                                   {"1234", 3},    {"123456", 4},
                                   {kNines38, 20}, {"15", 2},
                                   {"1E-100", 2},  {"1E125", 2},
                                   {"3.14159", 5}, {"-" + kNines38, 21},
                                   {"-1", 3},      {"1" + std::string(36, '5') + ".5", 21}};
  for (const Case& c : cases) EXPECT_EQ(number(c.text).size_bytes(), c.bytes) << c.text;
}

TEST(NumberStoredForm, ReadsBackAndLeavesWhatFollows) {
  RandomNumbers random(4);
  const std::string nines = "9." + std::string(37, '9');
  std::vector<Number> numbers = {Number(),
                                 number(nines + "e125"),
                                 number("-" + nines + "e125"),
                                 number(nines + "e-130"),
                                 number("-1e-130"),
                                 number("1e125")};
  for (int i = 0; i < 5000; ++i) numbers.push_back(random.next());
  std::string bytes;
  for (const Number& n : numbers) n.encode(bytes);
  bytes += "rest";
  std::string_view in = bytes;
  for (const Number& n : numbers) ASSERT_EQ(Number::decode(in), n) << n.to_string();
  EXPECT_EQ(in, "rest");
}

TEST(NumberStoredForm, IsRefusedOutsideNormalForm) {
  const auto stored = [](unsigned char header, int exponent, std::string_view coefficient) {
    std::string bytes(1, static_cast<char>(header));
    bytes.push_back(static_cast<char>((exponent + 170) & 0xFF));
    bytes.push_back(static_cast<char>((exponent + 170) >> 8));
    return bytes.append(coefficient);
  };
  const auto refused = [](const std::string& bytes) {
    std::string_view in = bytes;
    try {
      Number::decode(in);
      return false;
    } catch (const CorruptRecord&) {
      return true;
    }
  };
  EXPECT_FALSE(refused(stored(1, 0, "\x07")));
  EXPECT_TRUE(refused("")) << "nothing there";
  EXPECT_TRUE(refused(stored(0x80, 0, ""))) << "minus zero";
  EXPECT_TRUE(refused(stored(1, 0, std::string("\0", 1)))) << "zero with a coefficient";
  EXPECT_TRUE(refused(stored(1, 0, "\x0A"))) << "a trailing zero digit";
  EXPECT_TRUE(refused(stored(16, 0, std::string(16, '\xFF')))) << "39 digits";
  EXPECT_TRUE(refused(stored(17, 0, std::string(17, '\x01')))) << "more than 128 bits";
  EXPECT_TRUE(refused(stored(1, 126, "\x01"))) << "overflow";
  EXPECT_TRUE(refused(stored(1, -131, "\x01"))) << "underflow";
  EXPECT_TRUE(refused(stored(1, 30000, "\x01"))) << "far overflow";
  EXPECT_TRUE(refused(stored(2, 0, "\x01"))) << "cut off";
  EXPECT_TRUE(refused("\x01")) << "header only";
}

TEST(NumberOrderedForm, ReadsBackAndLeavesWhatFollows) {
  RandomNumbers random(5);
  const std::string nines = "9." + std::string(37, '9');
  std::vector<Number> numbers = {
      Number(),         number(nines + "e125"), number("-" + nines + "e125"),
      number("1e-130"), number("-1e-130"),      number("-1e125")};
  for (int i = 0; i < 5000; ++i) numbers.push_back(random.next());
  std::string bytes;
  for (const Number& n : numbers) n.encode_ordered(bytes);
  bytes += "rest";
  std::string_view in = bytes;
  for (const Number& n : numbers) ASSERT_EQ(Number::decode_ordered(in), n) << n.to_string();
  EXPECT_EQ(in, "rest");
}

TEST(NumberOrderedForm, SortsAsNumbersDo) {
  RandomNumbers random(6);
  const auto ordered = [](const Number& n) {
    std::string bytes;
    n.encode_ordered(bytes);
    return bytes;
  };
  for (int i = 0; i < 20000; ++i) {
    const Number a = random.next();
    Number b = random.next();
    if (i % 10 == 0) b = a.negated();
    // Neighbours: one more digit at the end.
    if (i % 10 == 1) b = Number::add(a, number("1e-30")).value_or(b);
    ASSERT_EQ(ordered(a).compare(ordered(b)) <=> 0, a <=> b)
        << a.to_string() << " against " << b.to_string();
  }
}

TEST(NumberOrderedForm, HasNoMemberThatIsAPrefixOfAnother) {
  RandomNumbers random(7);
  std::vector<std::string> all;
  for (int i = 0; i < 3000; ++i) random.next(2).encode_ordered(all.emplace_back());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (size_t i = 1; i < all.size(); ++i) EXPECT_FALSE(all[i].starts_with(all[i - 1]));
}

}  // namespace
}  // namespace stator::model

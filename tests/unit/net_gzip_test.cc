#include "net/gzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>

namespace stator::net {
namespace {

std::string gzip(std::string_view text) {
  std::string out;
  deflate_into(text, Coding::kGzip, out);
  return out;
}

std::string noise(size_t size) {
  std::mt19937 random(7);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST(InflateGzip, GivesBackWhatWasDeflated) {
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(100'000, 'a'), noise(100'000)}) {
    std::string out;
    ASSERT_EQ(inflate_gzip(gzip(text), 1 << 20, out), Inflated::kOk);
    EXPECT_EQ(out, text);
  }
}

TEST(InflateGzip, ReadsSeveralMembersAsOneText) {
  std::string out;
  ASSERT_EQ(inflate_gzip(gzip("one ") + gzip("two"), 100, out), Inflated::kOk);
  EXPECT_EQ(out, "one two");
}

TEST(InflateGzip, IgnoresBytesBehindTheLastMember) {
  std::string out;
  ASSERT_EQ(inflate_gzip(gzip("one") + "junk", 100, out), Inflated::kOk);
  EXPECT_EQ(out, "one");
}

TEST(InflateGzip, TheLimitItselfIsAllowedAndOneMoreIsNot) {
  std::string out;
  EXPECT_EQ(inflate_gzip(gzip(std::string(99, 'a')), 100, out), Inflated::kOk);
  EXPECT_EQ(inflate_gzip(gzip(std::string(100, 'a')), 100, out), Inflated::kOk);
  EXPECT_EQ(out.size(), 100u);
  EXPECT_EQ(inflate_gzip(gzip(std::string(101, 'a')), 100, out), Inflated::kTooLarge);
}

TEST(InflateGzip, ABombNeverGrowsBeyondTheLimit) {
  const size_t limit = 1 << 20;
  std::string out;
  EXPECT_EQ(inflate_gzip(gzip(std::string(64 << 20, 'a')), limit, out), Inflated::kTooLarge);
  EXPECT_LE(out.capacity(), 2 * limit);
}

TEST(InflateGzip, RefusesWhatIsNotGzipOrCutShort) {
  std::string out;
  EXPECT_EQ(inflate_gzip("", 100, out), Inflated::kDamaged);
  EXPECT_EQ(inflate_gzip("{}", 100, out), Inflated::kDamaged);
  const std::string good = gzip("some text that is long enough to be cut");
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(inflate_gzip(std::string_view(good).substr(0, size), 100, out), Inflated::kDamaged)
        << size;
  }
  std::string wrong_checksum = good;
  wrong_checksum[good.size() - 6] ^= 1;
  EXPECT_EQ(inflate_gzip(wrong_checksum, 100, out), Inflated::kDamaged);
}

TEST(DeflateInto, DeflateIsAZlibStream) {
  const std::string text(5000, 'a');
  std::string out;
  deflate_into(text, Coding::kDeflate, out);
  std::string back(text.size(), ' ');
  uLongf size = back.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(back.data()), &size,
                       reinterpret_cast<const Bytef*>(out.data()), out.size()),
            Z_OK);
  EXPECT_EQ(back, text);
}

struct AcceptCase {
  const char* header;
  Coding coding;
};

class ChooseCoding : public ::testing::TestWithParam<AcceptCase> {};

TEST_P(ChooseCoding, AsTheServiceDoes) {
  EXPECT_EQ(choose_coding(GetParam().header), GetParam().coding) << GetParam().header;
}

// Observed of the service.
INSTANTIATE_TEST_SUITE_P(
    Headers, ChooseCoding,
    ::testing::Values(
        AcceptCase{"", Coding::kIdentity}, AcceptCase{"identity", Coding::kIdentity},
        AcceptCase{"br", Coding::kIdentity}, AcceptCase{"x-gzip", Coding::kIdentity},
        AcceptCase{"gzip", Coding::kGzip}, AcceptCase{"deflate", Coding::kDeflate},
        AcceptCase{"gzip, deflate", Coding::kGzip},
        AcceptCase{"br, identity, deflate, gzip", Coding::kDeflate},
        AcceptCase{"GZIP, identity", Coding::kGzip}, AcceptCase{"dog, gzip ,, cat", Coding::kGzip},
        AcceptCase{"gzip;q=0.8, deflate;q=0.5", Coding::kGzip},
        AcceptCase{"br, gzip;q=0, deflate; q = 0.5 , identity;q=0", Coding::kDeflate},
        AcceptCase{"*", Coding::kGzip}, AcceptCase{"*, deflate;q=0.5", Coding::kGzip},
        AcceptCase{"*, deflate", Coding::kDeflate}, AcceptCase{"*, gzip;q=0.5", Coding::kDeflate},
        AcceptCase{"gzip ;q=0", Coding::kIdentity}, AcceptCase{"*;q=0", Coding::kIdentity},
        AcceptCase{"*;q=0.5,identity", Coding::kGzip},
        AcceptCase{"gzip;q=0.5,identity;q=0.8", Coding::kGzip},
        AcceptCase{"\"gzip\"", Coding::kIdentity}, AcceptCase{"gzip br", Coding::kIdentity},
        AcceptCase{"gzip:q=1", Coding::kIdentity},
        AcceptCase{"deflate;q=0.5, gzip;q=31", Coding::kGzip},
        AcceptCase{"gzip;q=31,deflate;q=51", Coding::kGzip},
        AcceptCase{"deflate;q=0.5, gzip;q=1;q=0.2", Coding::kGzip},
        AcceptCase{"deflate;q=0.5,gzip;q=0.", Coding::kDeflate},
        AcceptCase{"deflate;q=0.5,gzip;q=0.x", Coding::kGzip},
        AcceptCase{"deflate;q=-0.5,gzip;q=0.2", Coding::kGzip},
        AcceptCase{"gzip;nq=1;q=0 ", Coding::kIdentity},
        AcceptCase{"gzip;q=0, gzip;q=1, gzip;q=0", Coding::kGzip},
        AcceptCase{"br,identity;q=0.5,gzip;q=0.0001", Coding::kGzip}));

}  // namespace
}  // namespace stator::net

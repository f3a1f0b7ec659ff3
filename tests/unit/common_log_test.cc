#include "common/log.h"

#include <gtest/gtest.h>

namespace stator {
namespace {

TEST(Log, AnEventAsTextQuotesWhatIsNotAWord) {
  EXPECT_EQ(text_of_event("slow request", {{"id", "A1"}, {"error", "no \"x\" here"}, {"none", ""}}),
            "slow request id=A1 error=\"no \\\"x\\\" here\" none=\"\"");
}

TEST(Log, AnEventAsJsonHasItsFieldsAsMembers) {
  EXPECT_EQ(json_members_of_event("a\nb", {{"id", "A1"}, {"error", "\"\\\x01"}}),
            "\"message\":\"a\\u000ab\",\"id\":\"A1\",\"error\":\"\\\"\\\\\\u0001\"");
}

}  // namespace
}  // namespace stator

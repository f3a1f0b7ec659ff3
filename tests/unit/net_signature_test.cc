#include "net/signature.h"

#include <gtest/gtest.h>

namespace stator::net {
namespace {

using Kind = SignatureError::Kind;

class SignatureTest : public ::testing::Test {
 protected:
  Signature parsed() {
    auto result = parse_signature(request_);
    EXPECT_TRUE(std::holds_alternative<Signature>(result));
    return std::get<Signature>(std::move(result));
  }
  SignatureError refused() {
    auto result = parse_signature(request_);
    EXPECT_TRUE(std::holds_alternative<SignatureError>(result));
    return std::get<SignatureError>(std::move(result));
  }
  void header(std::string_view name, std::string_view value) {
    request_.headers.push_back({name, value});
  }

  Request request_;
};

constexpr std::string_view kGood =
    "AWS4-HMAC-SHA256 Credential=AKID/20130609/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=0123abcd";

TEST_F(SignatureTest, ReadsAllPartsOfAnAuthorizationHeader) {
  header("Authorization", kGood);
  header("X-Amz-Date", "20130609T100759Z");
  header("X-Amz-Security-Token", "token");
  const Signature signature = parsed();
  EXPECT_EQ(signature.access_key, "AKID");
  EXPECT_EQ(signature.date, "20130609");
  EXPECT_EQ(signature.region, "us-east-1");
  EXPECT_EQ(signature.service, "dynamodb");
  EXPECT_EQ(signature.signed_headers, "host;x-amz-date");
  EXPECT_EQ(signature.signature, "0123abcd");
  EXPECT_EQ(signature.timestamp, "20130609T100759Z");
  EXPECT_EQ(signature.security_token, "token");
  EXPECT_FALSE(signature.is_presigned);
}

TEST_F(SignatureTest, CommasWithoutSpacesSeparateToo) {
  header("authorization",
         "AWS4-HMAC-SHA256 Credential=AKID/1/r/s/aws4_request,SignedHeaders=host,Signature=ab");
  header("date", "Sun, 09 Jun 2013 10:07:59 GMT");
  EXPECT_EQ(parsed().signature, "ab");
}

TEST_F(SignatureTest, ReadsPresignedQuery) {
  request_.query =
      "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20130609%2Feu-west-1%2Fdynamodb%"
      "2Faws4_request"
      "&X-Amz-Date=20130609T100759Z&X-Amz-SignedHeaders=host%3Bx&X-Amz-Signature=ab&X-Amz-Security-"
      "Token=a%2Bb";
  const Signature signature = parsed();
  EXPECT_TRUE(signature.is_presigned);
  EXPECT_EQ(signature.access_key, "AKID");
  EXPECT_EQ(signature.region, "eu-west-1");
  EXPECT_EQ(signature.signed_headers, "host;x");
  EXPECT_EQ(signature.security_token, "a+b");
}

TEST_F(SignatureTest, NothingAtAllIsAMissingToken) {
  const SignatureError error = refused();
  EXPECT_EQ(error.kind, Kind::kMissingAuthenticationToken);
  EXPECT_EQ(error.message, "Request is missing Authentication Token");
}

TEST_F(SignatureTest, AnotherSchemeIsAMissingToken) {
  header("Authorization", "AWS4");
  EXPECT_EQ(refused().kind, Kind::kMissingAuthenticationToken);
}

TEST_F(SignatureTest, QueryWithoutAlgorithmIsAMissingToken) {
  request_.query = "X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-SignedHeaders=c&X-Amz-Date=d";
  EXPECT_EQ(refused().kind, Kind::kMissingAuthenticationToken);
}

TEST_F(SignatureTest, HeaderAndQueryTogetherAreInvalid) {
  header("Authorization", "X");
  request_.query = "X-Amz-Algorithm";
  const SignatureError error = refused();
  EXPECT_EQ(error.kind, Kind::kInvalidSignature);
  EXPECT_EQ(
      error.message,
      "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.");
}

TEST_F(SignatureTest, AllMissingPartsAreNamedInOneMessage) {
  header("Authorization", "AWS4-");
  const SignatureError error = refused();
  EXPECT_EQ(error.kind, Kind::kIncompleteSignature);
  EXPECT_EQ(error.message,
            "Authorization header requires 'Credential' parameter. Authorization header requires "
            "'Signature' "
            "parameter. Authorization header requires 'SignedHeaders' parameter. Authorization "
            "header requires "
            "existence of either a 'X-Amz-Date' or a 'Date' header. Authorization=AWS4-");
}

TEST_F(SignatureTest, OneMissingPartIsNamedAlone) {
  header("Authorization", "AWS4- Signature=b, Credential=a");
  header("Date", "a");
  EXPECT_EQ(refused().message,
            "Authorization header requires 'SignedHeaders' parameter. Authorization=AWS4- "
            "Signature=b, Credential=a");
}

TEST_F(SignatureTest, AllMissingQueryParametersAreNamedInOneMessage) {
  request_.query = "X-Amz-Algorithm";
  EXPECT_EQ(refused().message,
            "AWS query-string parameters must include 'X-Amz-Algorithm'. AWS query-string "
            "parameters must include "
            "'X-Amz-Credential'. AWS query-string parameters must include 'X-Amz-Signature'. AWS "
            "query-string "
            "parameters must include 'X-Amz-SignedHeaders'. AWS query-string parameters must "
            "include 'X-Amz-Date'. "
            "Re-examine the query-string parameters.");
}

TEST_F(SignatureTest, PartWithoutEqualSignIsNamed) {
  header("Authorization", "AWS4-HMAC-SHA256 Signature=b,    Credential,    SignedHeaders");
  EXPECT_EQ(refused().message,
            "'Credential' not a valid key=value pair (missing equal-sign) in Authorization header: "
            "'AWS4-HMAC-SHA256 Signature=b,    Credential,    SignedHeaders'.");
}

TEST_F(SignatureTest, DateOfAnotherFormIsRefused) {
  header("Authorization", kGood);
  header("X-Amz-Date", "201");
  EXPECT_EQ(refused().message,
            "Date must be in ISO-8601 'basic format'. Got '201'. See "
            "http://en.wikipedia.org/wiki/ISO_8601");
}

TEST_F(SignatureTest, UnknownAlgorithmIsRefused) {
  header("Authorization", "AWS4-HMAC-SHA25 Credential=a/b/c/d/e, SignedHeaders=host, Signature=ab");
  header("X-Amz-Date", "20130609T100759Z");
  EXPECT_EQ(refused().message,
            "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA25' (only AWS4-HMAC-SHA256 for now). ");
}

TEST_F(SignatureTest, CredentialWithFourPartsIsRefusedAndSlashesAtItsEndDoNotCount) {
  header("Authorization", "AWS4-HMAC-SHA256 Credential=a/b/c/d, SignedHeaders=host, Signature=ab");
  header("X-Amz-Date", "20130609T100759Z");
  EXPECT_EQ(refused().message,
            "Credential must have exactly 5 slash-delimited elements, e.g. "
            "keyid/date/region/service/term, got "
            "'a/b/c/d'");
  request_.headers[0].value =
      "AWS4-HMAC-SHA256 Credential=a/b/c/d/e//, SignedHeaders=host, Signature=ab";
  EXPECT_EQ(parsed().service, "d");
}

}  // namespace
}  // namespace stator::net

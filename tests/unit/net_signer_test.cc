// Signature Version 4: the published vectors (AWS's test suite of the algorithm, and the examples
// of the S3 and IAM references).
#include "net/signer.h"

#include <gtest/gtest.h>

#include "net/canonical_request.h"

namespace stator::net {
namespace {

constexpr int64_t kSuiteTime = 1440938160;  // 20150830T123600Z
constexpr int64_t kS3Time = 1369353600;     // 20130524T000000Z

class SignerTest : public ::testing::Test {
 protected:
  void url(std::string_view text) { request_.url = parse_url(text).value(); }
  // The signature of the request, by the test suite's signer.
  std::string signature() {
    const RequestSigner signer({"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", {}},
                               "us-east-1", "service");
    signer.sign(request_, kSuiteTime);
    return end_of(header("Authorization"));
  }
  std::string s3_signature() {
    const RequestSigner signer(
        {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", {}}, "us-east-1",
        "s3");
    signer.sign(request_, kS3Time);
    return end_of(header("Authorization"));
  }
  std::string header(std::string_view name) {
    for (const auto& [present, value] : request_.headers) {
      if (present == name) return value;
    }
    return {};
  }
  static std::string end_of(const std::string& authorization) {
    return authorization.substr(authorization.rfind('=') + 1);
  }

  ClientRequest request_;
};

TEST_F(SignerTest, Vanilla) {
  url("http://example.amazonaws.com/");
  EXPECT_EQ(signature(), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(header("Authorization").substr(0, header("Authorization").rfind(',')),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date");
}

TEST_F(SignerTest, QueryIsSortedByKey) {
  url("http://example.amazonaws.com/?Param2=value2&Param1=value1");
  EXPECT_EQ(signature(), "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST_F(SignerTest, RepeatedHeadersAreJoined) {
  url("http://example.amazonaws.com/");
  request_.headers = {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}};
  EXPECT_EQ(signature(), "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea");
}

TEST_F(SignerTest, RunsOfSpacesCountAsOne) {
  url("http://example.amazonaws.com/");
  request_.headers = {{"My-Header1", "value1"}, {"My-Header2", "\"a b c\""}};
  const std::string plain = signature();
  request_.headers = {{"My-Header1", "  value1 "}, {"My-Header2", " \"a   b   c\""}};
  EXPECT_EQ(signature(), plain);
}

TEST_F(SignerTest, DotsOfAPathAreResolved) {
  url("http://example.amazonaws.com/example/..");
  EXPECT_EQ(signature(), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  url("http://example.amazonaws.com//./");
  EXPECT_EQ(signature(), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST_F(SignerTest, BodyIsSigned) {
  url("http://example.amazonaws.com/");
  request_.method = "POST";
  request_.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request_.body = "Param1=value1";
  EXPECT_EQ(signature(), "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
}

TEST_F(SignerTest, SignsAnewWhatWasSignedBefore) {
  url("http://example.amazonaws.com/");
  const std::string first = signature();
  EXPECT_EQ(signature(), first);
}

TEST_F(SignerTest, S3GetWithRange) {
  url("http://examplebucket.s3.amazonaws.com/test.txt");
  request_.headers = {{"Range", "bytes=0-9"}};
  EXPECT_EQ(s3_signature(), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(SignerTest, S3PutWithAnEncodedKey) {
  url("http://examplebucket.s3.amazonaws.com/test%24file.text");
  request_.method = "PUT";
  request_.body = "Welcome to Amazon S3.";
  request_.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"},
                      {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  EXPECT_EQ(s3_signature(), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_F(SignerTest, S3ParameterWithoutAValue) {
  url("http://examplebucket.s3.amazonaws.com/?lifecycle");
  EXPECT_EQ(s3_signature(), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_F(SignerTest, S3ListOfAPrefix) {
  url("http://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J");
  EXPECT_EQ(s3_signature(), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_F(SignerTest, TokenOfTemporaryCredentialsIsSent) {
  url("http://example.amazonaws.com/");
  const RequestSigner signer({"A", "S", "token"}, "us-east-1", "lambda");
  signer.sign(request_, kSuiteTime);
  EXPECT_EQ(header("X-Amz-Security-Token"), "token");
  EXPECT_NE(header("Authorization").find("SignedHeaders=host;x-amz-date;x-amz-security-token"),
            std::string::npos);
}

TEST(Url, PartsAreTakenApart) {
  const Url url = parse_url("https://[::1]:8443/a%20b/c?x=1&y#z").value();
  EXPECT_TRUE(url.is_https);
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/a%20b/c");
  EXPECT_EQ(url.query, "x=1&y");
  EXPECT_EQ(url.authority(), "[::1]:8443");
  EXPECT_EQ(parse_url("http://h").value().path, "/");
  EXPECT_EQ(parse_url("http://h").value().authority(), "h");
  EXPECT_EQ(parse_url("http://h?q").value().query, "q");
}

TEST(Url, WhatCouldBeReadTwoWaysIsRefused) {
  for (const char* text :
       {"", "h", "ftp://h/", "http://", "http://u@h/", "http://h:0/", "http://h:65536/",
        "http://h:x/", "http://h/a b", "http://h/\r\nX: y", "http://[::1/", "http://[::1]x/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

TEST(Url, EncodingIsTheInverseOfDecoding) {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  EXPECT_EQ(percent_decode(percent_encode(all, false)), all);
  EXPECT_EQ(percent_encode("a/b c", true), "a/b%20c");
  EXPECT_EQ(percent_encode("a/b~", false), "a%2Fb~");
  EXPECT_EQ(percent_decode("%4g%4"), "%4g%4");
}

}  // namespace
}  // namespace stator::net

#include "client/credentials.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "client/endpoint.h"

namespace stator::client {
namespace {

class Credentials : public ::testing::Test {
 protected:
  Credentials() {
    std::filesystem::create_directories(directory_);
    std::ofstream(directory_ / "credentials")
        << "[default]\naws_access_key_id = D\n"
           "aws_secret_access_key=DS\n\n# other\n[work]\n"
           "aws_access_key_id = W\naws_secret_access_key = WS\n"
           "aws_session_token = WT\n";
    std::ofstream(directory_ / "config") << "[default]\nregion = eu-west-1\n[profile work]\n"
                                            "s3 =\n    region = none\nregion = ap-south-1\n";
    variables_["AWS_SHARED_CREDENTIALS_FILE"] = directory_ / "credentials";
    variables_["AWS_CONFIG_FILE"] = directory_ / "config";
  }
  ~Credentials() override { std::filesystem::remove_all(directory_); }

  Environment environment() {
    return [this](const std::string& name) -> std::optional<std::string> {
      const auto at = variables_.find(name);
      if (at == variables_.end()) return std::nullopt;
      return at->second;
    };
  }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() / ("stator_credentials_" + std::to_string(getpid()));
  std::map<std::string, std::string> variables_;
};

TEST_F(Credentials, TheEnvironmentIsFirst) {
  variables_["AWS_ACCESS_KEY_ID"] = "E";
  variables_["AWS_SECRET_ACCESS_KEY"] = "ES";
  variables_["AWS_REGION"] = "us-west-2";
  const Identity identity = find_identity(environment(), "");
  EXPECT_EQ(identity.credentials->access_key, "E");
  EXPECT_EQ(identity.credentials->secret_key, "ES");
  EXPECT_EQ(identity.region, "us-west-2");
}

TEST_F(Credentials, ThenTheDefaultProfile) {
  const Identity identity = find_identity(environment(), "");
  EXPECT_EQ(identity.credentials->access_key, "D");
  EXPECT_EQ(identity.region, "eu-west-1");
}

TEST_F(Credentials, AProfileThatIsNamedIsStrongerThanTheEnvironment) {
  variables_["AWS_ACCESS_KEY_ID"] = "E";
  variables_["AWS_SECRET_ACCESS_KEY"] = "ES";
  const Identity identity = find_identity(environment(), "work");
  EXPECT_EQ(identity.credentials->access_key, "W");
  EXPECT_EQ(identity.credentials->session_token, "WT");
  EXPECT_EQ(identity.region, "ap-south-1");
  EXPECT_THROW(find_identity(environment(), "nobody"), std::runtime_error);
}

TEST_F(Credentials, AHostOfAwsNeedsThemAndAnyOtherDoesNot) {
  variables_.clear();
  variables_["HOME"] = "/no/such/home";
  EndpointOptions options;
  EXPECT_NO_THROW(open_endpoint(options, environment()));
  options.url = "https://dynamodb.eu-west-1.amazonaws.com";
  EXPECT_THROW(open_endpoint(options, environment()), std::runtime_error);
  options.url = "no url";
  EXPECT_THROW(open_endpoint(options, environment()), std::runtime_error);
}

TEST(ClientErrors, HaveTheirNameWithoutItsNamespace) {
  const ServiceError error = error_of(
      {400,
       R"({"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"m"})"});
  EXPECT_EQ(error.type(), "ResourceNotFoundException");
  EXPECT_STREQ(error.what(), "m");
  EXPECT_EQ(error_of({502, "<html>"}).type(), "HTTP 502");
}

}  // namespace
}  // namespace stator::client

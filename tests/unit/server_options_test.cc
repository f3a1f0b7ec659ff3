#include "server/options.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include <unistd.h>

namespace stator::server {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  ~OptionsTest() override { std::filesystem::remove(file_); }

  ParsedOptions parse(std::vector<std::string> arguments) {
    return parse_options(arguments, [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment_.find(name);
      if (found == environment_.end()) return std::nullopt;
      return found->second;
    });
  }
  Options options(std::vector<std::string> arguments) {
    return parse(std::move(arguments)).options;
  }
  std::string error(std::vector<std::string> arguments) {
    try {
      parse(std::move(arguments));
    } catch (const OptionsError& e) {
      return e.what();
    }
    return "no error";
  }
  void write_file(const std::string& text) { std::ofstream(file_) << text; }

  std::map<std::string, std::string> environment_;
  const std::string file_ = std::filesystem::temp_directory_path() /
                            ("stator_options_test_" + std::to_string(getpid()) + ".toml");
};

TEST_F(OptionsTest, DefaultsAreSafeForALaptop) {
  const Options defaults = options({});
  EXPECT_EQ(defaults.net.host, "127.0.0.1");
  EXPECT_EQ(defaults.net.port, 8000);
  EXPECT_EQ(defaults.database.directory, "stator-data");
  EXPECT_EQ(defaults.database.durability, engine::Durability::kSync);
  EXPECT_EQ(defaults.database.region, "us-east-1");
  EXPECT_EQ(defaults.database.account, "123456789012");
  EXPECT_FALSE(defaults.in_memory);
}

TEST_F(OptionsTest, TheFileSaysWhereFunctionsAre) {
  write_file(R"([functions]
orders = "http://127.0.0.1:9001"
[destinations]
"arn:aws:sqs:us-east-1:123456789012:failed" = "https://example.org/failed?x=1"
[kinesis]
endpoint = "http://127.0.0.1:4567"
access-key = "a"
secret-key = "s"
)");
  const Options parsed = options({"--config", file_});
  EXPECT_EQ(parsed.addresses.functions.at("orders").port, 9001);
  EXPECT_EQ(parsed.addresses.functions.at("orders").path, "/");
  const auto& destination =
      parsed.addresses.destinations.at("arn:aws:sqs:us-east-1:123456789012:failed");
  EXPECT_TRUE(destination.is_https);
  EXPECT_EQ(destination.path, "/failed");
  EXPECT_EQ(parsed.kinesis.endpoint->port, 4567);
  EXPECT_EQ(parsed.kinesis.credentials.secret_key, "s");
}

TEST_F(OptionsTest, AnAddressThatIsNoneIsAnError) {
  write_file("[functions]\norders = \"127.0.0.1\"\n");
  EXPECT_EQ(error({"--config", file_}),
            "functions in " + file_ + ": orders must be an address such as http://127.0.0.1:9001");
  write_file("functions = 1\n");
  EXPECT_EQ(error({"--config", file_}),
            "functions in " + file_ + " must be a table of names and addresses");
  write_file("[kinesis]\nport = \"1\"\n");
  EXPECT_EQ(error({"--config", file_}), "unknown key in kinesis in " + file_ + ": port");
}

TEST_F(OptionsTest, EveryOptionCanBeAFlag) {
  const Options parsed = options({"--host",
                                  "::1",
                                  "--port=0",
                                  "--data-dir",
                                  "/x",
                                  "--durability",
                                  "os",
                                  "--region",
                                  "eu-west-1",
                                  "--account",
                                  "123456789012",
                                  "--threads",
                                  "3",
                                  "--cache-mb",
                                  "7",
                                  "--table-delay-ms",
                                  "20",
                                  "--log-level",
                                  "warn",
                                  "--idle-timeout-ms",
                                  "50"});
  EXPECT_EQ(parsed.net.host, "::1");
  EXPECT_EQ(parsed.net.port, 0);
  EXPECT_EQ(parsed.database.directory, "/x");
  EXPECT_EQ(parsed.database.durability, engine::Durability::kOs);
  EXPECT_EQ(parsed.database.region, "eu-west-1");
  EXPECT_EQ(parsed.database.account, "123456789012");
  EXPECT_EQ(parsed.net.threads, 3u);
  EXPECT_EQ(parsed.database.block_cache_bytes, 7u << 20);
  EXPECT_EQ(parsed.database.table_delay_ms, 20);
  EXPECT_EQ(parsed.log_level, "warn");
  EXPECT_EQ(parsed.net.idle_timeout.count(), 50);
}

TEST_F(OptionsTest, FlagBeatsEnvironmentBeatsFileBeatsDefault) {
  write_file("port = 1\nregion = \"from-file\"\nthreads = 5\n");
  environment_["STATOR_PORT"] = "2";
  environment_["STATOR_REGION"] = "from-env";
  const Options parsed = options({"--port", "3", "--config", file_});
  EXPECT_EQ(parsed.net.port, 3);
  EXPECT_EQ(parsed.database.region, "from-env");
  EXPECT_EQ(parsed.net.threads, 5u);
  EXPECT_EQ(parsed.net.host, "127.0.0.1");
}

TEST_F(OptionsTest, TheFileCanBeNamedByTheEnvironment) {
  write_file("in-memory = true\n");
  environment_["STATOR_CONFIG"] = file_;
  const Options parsed = options({});
  EXPECT_TRUE(parsed.in_memory);
  EXPECT_EQ(parsed.database.durability, engine::Durability::kMemory);
}

TEST_F(OptionsTest, InMemoryIsASwitch) {
  EXPECT_TRUE(options({"--in-memory"}).in_memory);
  environment_["STATOR_IN_MEMORY"] = "true";
  EXPECT_TRUE(options({}).in_memory);
  EXPECT_FALSE(options({"--in-memory=false"}).in_memory);
}

TEST_F(OptionsTest, ThrottlingIsChosenByName) {
  EXPECT_EQ(options({}).database.throttle, capacity::ThrottleMode::kProvisioned);
  EXPECT_EQ(options({"--throttle", "full"}).database.throttle, capacity::ThrottleMode::kFull);
  EXPECT_EQ(options({"--throttle", "off"}).database.throttle, capacity::ThrottleMode::kOff);
  EXPECT_EQ(options({"--throttle", "provisioned"}).database.throttle,
            capacity::ThrottleMode::kProvisioned);
}

TEST_F(OptionsTest, WrongValuesAreNamedWithTheirSource) {
  EXPECT_EQ(error({"--port", "65536"}), "--port must be a number from 0 to 65535, not '65536'");
  EXPECT_EQ(error({"--port", "80x"}), "--port must be a number from 0 to 65535, not '80x'");
  EXPECT_EQ(error({"--durability", "none"}), "--durability must be sync or os, not 'none'");
  EXPECT_EQ(error({"--throttle", "on"}), "--throttle must be provisioned, full or off, not 'on'");
  EXPECT_EQ(error({"--account", "12"}), "--account must have twelve digits, not '12'");
  EXPECT_EQ(error({"--log-level", "loud"}),
            "--log-level must be trace, debug, info, warn, error or off, not 'loud'");
  environment_["STATOR_PORT"] = "x";
  EXPECT_EQ(error({}), "STATOR_PORT must be a number from 0 to 65535, not 'x'");
}

TEST_F(OptionsTest, BucketsAreAFolderOrAServiceThatSpeaksS3) {
  EXPECT_FALSE(options({}).database.objects.s3);
  EXPECT_EQ(options({"--s3-root", "/buckets"}).database.objects.root, "/buckets");
  write_file(
      "[s3]\nendpoint = \"http://127.0.0.1:9000\"\nregion = \"eu-west-1\"\naccess_key = \"key\"\n"
      "secret_key = \"secret\"\npath_style = false\n");
  environment_["STATOR_S3_REGION"] = "eu-west-2";
  const ParsedOptions parsed = parse({"--config", file_});
  const auto& s3 = parsed.options.database.objects.s3;
  ASSERT_TRUE(s3);
  EXPECT_EQ(s3->endpoint, "http://127.0.0.1:9000");
  EXPECT_EQ(s3->region, "eu-west-2");
  EXPECT_EQ(s3->access_key, "key");
  EXPECT_EQ(s3->secret_key, "secret");
  EXPECT_FALSE(s3->path_style);
  for (const Setting& setting : parsed.settings) {
    EXPECT_EQ(setting.value.find("secret"), std::string::npos) << setting.name;
  }
  environment_.clear();
  write_file("[s3]\nregion = \"eu-west-1\"\n");
  EXPECT_EQ(error({"--config", file_}), "settings of S3 need an endpoint: s3-endpoint");
  write_file("[s3]\nendpoint = \"127.0.0.1:9000\"\n");
  EXPECT_EQ(error({"--config", file_}), "s3.endpoint in " + file_ +
                                            " must be a URL, such as http://127.0.0.1:9000, not "
                                            "'127.0.0.1:9000'");
  // Nobody needs to see it in the list of processes.
  EXPECT_NE(error({"--s3-secret-key", "x"}), "no error");
}

TEST_F(OptionsTest, WrongFilesAreNamedWithLineOrKey) {
  write_file("port = 1\nprot = 2\nhots = 3\n");
  EXPECT_EQ(error({"--config", file_}),
            "unknown key in " + file_ + ": hots (did you mean host?), prot (did you mean port?)");
  write_file("port = 99999\n");
  EXPECT_EQ(error({"--config", file_}),
            "port in " + file_ + " must be a number from 0 to 65535, not '99999'");
  write_file("[port]\nx = 1\n");
  EXPECT_EQ(error({"--config", file_}),
            "port in " + file_ + " must be a text, a whole number or true or false");
  write_file("port = 1\nport = \n");
  EXPECT_EQ(error({"--config", file_}).rfind(file_ + ":2: ", 0), 0u);
  EXPECT_EQ(error({"--config", "/no/such/file.toml"}).rfind("cannot read /no/such/file.toml: ", 0),
            0u);
}

TEST_F(OptionsTest, UnknownFlagsAndMissingValuesAreErrors) {
  EXPECT_NE(error({"--prot", "1"}).find("--prot"), std::string::npos);
  EXPECT_NE(error({"--port"}).find("--port"), std::string::npos);
  EXPECT_NE(error({"surplus"}).find("surplus"), std::string::npos);
}

TEST_F(OptionsTest, HelpAndVersionArePrinted) {
  EXPECT_NE(parse({"--help"}).print.value().find("--data-dir"), std::string::npos);
  EXPECT_EQ(parse({"--version"}).print.value().rfind("Stator ", 0), 0u);
}

}  // namespace
}  // namespace stator::server

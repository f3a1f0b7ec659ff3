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

// Changes of a table to a Kinesis data stream: an Invoker whose functions are streams. An event
// becomes a PutRecords call to the endpoint of the configuration.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/clock.h"
#include "net/http_client.h"
#include "net/signer.h"
#include "net/url.h"
#include "triggers/invoker.h"

namespace stator::triggers {

struct KinesisOptions {
  std::optional<net::Url> endpoint;  // none: records wait in their stream until there is one
  net::Credentials credentials{"stator", "stator", ""};
  std::string region = "us-east-1";
};

// A function is named by the ARN of its stream; its qualifier is the precision of times,
// "MILLISECOND" or "MICROSECOND".
class KinesisInvoker final : public Invoker {
 public:
  KinesisInvoker(KinesisOptions options, const Clock& clock);

  bool knows_function(const std::string&) const override { return true; }
  bool knows_destination(const std::string&) const override { return false; }
  // The answer names the first record that did not get in, in the form of batch item failures.
  Invocation invoke(const FunctionName& stream, const std::string& event) override;
  bool tell(const std::string&, const std::string&) override { return false; }
  void stop() override { client_.stop(); }

 private:
  const KinesisOptions options_;
  const Clock& clock_;
  const net::RequestSigner signer_;
  net::HttpClient client_;
};

// A record of a hidden stream as Kinesis gets it.
struct KinesisRecord {
  std::string sequence_number;
  std::string partition_key;
  std::string data;  // JSON
};
KinesisRecord make_kinesis_record(const json::Element& record, std::string_view precision);

}  // namespace stator::triggers

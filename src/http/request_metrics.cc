#include "http/request_metrics.h"

#include <algorithm>

namespace stator::http {

namespace {

// The values of the label "result" beside "success". An error that is not here counts as the last
// one, so that nothing a client sends can add to them.
constexpr std::string_view kErrors[] = {
    "ConditionalCheckFailedException",
    "ValidationException",
    "ResourceNotFoundException",
    "ResourceInUseException",
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "TransactionCanceledException",
    "TransactionConflictException",
    "TransactionInProgressException",
    "IdempotentParameterMismatchException",
    "ItemCollectionSizeLimitExceededException",
    "DuplicateItemException",
    "LimitExceededException",
    "SerializationException",
    "AccessDeniedException",
    "PolicyNotFoundException",
    "TableNotFoundException",
    "TableInUseException",
    "TableAlreadyExistsException",
    "IndexNotFoundException",
    "BackupNotFoundException",
    "BackupInUseException",
    "ContinuousBackupsUnavailableException",
    "PointInTimeRecoveryUnavailableException",
    "InvalidRestoreTimeException",
    "ExportNotFoundException",
    "ExportConflictException",
    "InvalidExportTimeException",
    "ImportNotFoundException",
    "ImportConflictException",
    "ExpiredIteratorException",
    "TrimmedDataAccessException",
    "ObjectNotFoundException",
    "UnknownOperationException",
    "InternalServerError",
    "ServiceUnavailableException",
    "refused",  // by the checks of the wire: signature, JSON, coding
    "other",
};
constexpr size_t kErrorCount = std::size(kErrors);

size_t place_of(std::string_view error) {
  if (error.empty()) return kErrorCount - 2;
  const auto* const at = std::find(std::begin(kErrors), std::end(kErrors) - 1, error);
  return static_cast<size_t>(at - std::begin(kErrors));
}

// "DynamoDB_20120810" without its version.
std::string_view service_of(std::string_view target) {
  return target.substr(0, target.find_first_of("_."));
}

}  // namespace

RequestMetrics::RequestMetrics(const std::vector<std::string>& targets) {
  static_assert(kErrorCount <= kMostErrors);
  const auto add = [&](std::string_view service, std::string_view name) {
    auto operation = std::make_unique<Operation>();
    operation->service = service;
    operation->name = name;
    operations_.push_back(std::move(operation));
    return operations_.back().get();
  };
  for (const std::string& target : targets) {
    const size_t dot = target.find('.');
    by_target_[target] = add(service_of(target), std::string_view(target).substr(dot + 1));
  }
  add("", "other");
}

void RequestMetrics::end(std::string_view target, int status, std::string_view error,
                         uint64_t took_us) {
  ended_.add();
  if (status >= 0 && static_cast<size_t>(status) < statuses_.size())
    statuses_[static_cast<size_t>(status)].fetch_add(1, std::memory_order_relaxed);
  const auto at = by_target_.find(target);
  Operation* operation = at != by_target_.end() ? at->second : operations_.back().get();
  if (status < 400) {
    operation->successes.add();
  } else {
    operation->errors[place_of(error)].fetch_add(1, std::memory_order_relaxed);
  }
  operation->took_us.observe(took_us);
}

void RequestMetrics::write(metrics::Text& text) const {
  text.family("stator_requests_total", "counter",
              "Requests answered, by operation and result: success or the name of the error.");
  for (const auto& operation : operations_) {
    const auto labels = [&](std::string_view result, uint64_t value) {
      text.sample(
          {{"service", operation->service}, {"operation", operation->name}, {"result", result}},
          value);
    };
    labels("success", operation->successes.value());
    for (size_t i = 0; i < kErrorCount; ++i) {
      const uint64_t count = operation->errors[i].load(std::memory_order_relaxed);
      if (count > 0) labels(kErrors[i], count);
    }
  }
  text.family("stator_request_duration_seconds", "histogram",
              "From the arrival of a whole request to its answer being ready to be sent.");
  for (const auto& operation : operations_) {
    if (operation->took_us.read().count == 0) continue;
    text.sample({{"service", operation->service}, {"operation", operation->name}},
                operation->took_us, 1e-6);
  }
  text.family("stator_http_responses_total", "counter", "Answers, by HTTP status.");
  for (size_t status = 0; status < statuses_.size(); ++status) {
    const uint64_t count = statuses_[status].load(std::memory_order_relaxed);
    if (count > 0) text.sample({{"code", std::to_string(status)}}, count);
  }
  const uint64_t ended = ended_.value();  // first: a request that ends meanwhile has begun before
  text.gauge("stator_requests_under_way", "Requests that are being answered.",
             static_cast<double>(begun_.value() - ended));
}

}  // namespace stator::http

// What the mappings do, for the operator.
#include "json/writer.h"
#include "triggers/mappings.h"

namespace stator::triggers {

std::vector<Mappings::Seen> Mappings::look() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Seen> all;
  for (const auto& [uuid, entry] : entries_) {
    Seen seen{view(entry), {}, 0};
    if (entry.runner) {
      seen.counts = entry.runner->counts();
      seen.lag_ms = entry.runner->lag_ms();
    }
    all.push_back(std::move(seen));
  }
  return all;
}

std::string Mappings::report() const {
  std::string out;
  json::Object object(out);
  json::Array list(object.key("mappings"));
  for (const Seen& seen : look()) {
    const Mapping& mapping = seen.view.mapping;
    json::Object one(list.element());
    one.string("uuid", mapping.uuid);
    one.string("function", mapping.function.name);
    one.string("event_source_arn", mapping.event_source_arn);
    one.string("state", seen.view.state);
    one.string("last_result", seen.view.last_result);
    one.integer("lag_ms", seen.lag_ms);
    one.integer("invocations", static_cast<int64_t>(seen.counts.invocations));
    one.integer("failures", static_cast<int64_t>(seen.counts.failures));
    one.integer("records_delivered", static_cast<int64_t>(seen.counts.delivered));
    one.integer("records_filtered", static_cast<int64_t>(seen.counts.filtered));
    one.integer("records_discarded", static_cast<int64_t>(seen.counts.discarded));
    one.close();
  }
  list.close();
  object.close();
  return out;
}

void Mappings::write_metrics(metrics::Text& text) const {
  const std::vector<Seen> all = look();
  const auto family = [&](std::string_view name, std::string_view type, std::string_view help,
                          const auto& value) {
    text.family(name, type, help);
    for (const Seen& seen : all) {
      text.sample(
          {{"mapping", seen.view.mapping.uuid}, {"function", seen.view.mapping.function.name}},
          value(seen));
    }
  };
  const auto count = [&](std::string_view name, std::string_view help, uint64_t Counts::*field) {
    family(name, "counter", help, [field](const Seen& seen) { return seen.counts.*field; });
  };
  family("stator_trigger_enabled", "gauge", "1 if the event source mapping is enabled.",
         [](const Seen& seen) { return uint64_t{seen.view.state == "Enabled"}; });
  family("stator_trigger_ok", "gauge", "0 if the last call of the function failed.",
         [](const Seen& seen) { return uint64_t{!seen.view.last_result.starts_with("PROBLEM")}; });
  family("stator_trigger_lag_seconds", "gauge", "Age of the oldest record that is not done with.",
         [](const Seen& seen) { return static_cast<double>(seen.lag_ms) / 1000; });
  count("stator_trigger_invocations_total", "Calls that reached the function.",
        &Counts::invocations);
  count("stator_trigger_failures_total", "Calls that failed, or reported failed records.",
        &Counts::failures);
  count("stator_trigger_records_delivered_total", "Records that the function took.",
        &Counts::delivered);
  count("stator_trigger_records_filtered_total", "Records that the filter did not let pass.",
        &Counts::filtered);
  count("stator_trigger_records_discarded_total", "Records that were given up.",
        &Counts::discarded);
}

}  // namespace stator::triggers

// A function that does what a test tells it to.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "json/reader.h"
#include "triggers/invoker.h"

namespace stator::triggers {

inline Invocation succeeded(std::string body = "null") {
  Invocation answer;
  answer.status = 200;
  answer.executed_version = "$LATEST";
  answer.body = std::move(body);
  return answer;
}

inline Invocation failed() {
  Invocation answer;
  answer.kind = Invocation::Kind::kFailed;
  answer.status = 200;
  answer.executed_version = "$LATEST";
  answer.function_error = "Unhandled";
  return answer;
}

inline Invocation not_reached() {
  Invocation answer;
  answer.kind = Invocation::Kind::kNotReached;
  return answer;
}

// The ids (partition key "id", a text) of an event's records.
inline std::vector<std::string> ids_of(const std::string& event) {
  json::Document document;
  if (!document.parse(event)) return {"not JSON"};
  std::vector<std::string> ids;
  const auto list = json::array_member(document.root(), "Records");
  if (!list) return {"no records"};
  for (const json::Element record : *list) {
    const auto change = *json::member(record, "dynamodb");
    const auto key = *json::member(*json::member(change, "Keys"), "id");
    ids.emplace_back(json::string_member(key, "S").value_or("?"));
  }
  return ids;
}

class FakeInvoker final : public Invoker {
 public:
  using Function = std::function<Invocation(const std::vector<std::string>& ids)>;

  bool knows_function(const std::string& name) const override { return functions_.contains(name); }
  bool knows_destination(const std::string& arn) const override {
    return arn == "arn:aws:sqs:us-east-1:123456789012:failed";
  }
  Invocation invoke(const FunctionName& function, const std::string& event) override {
    const auto ids = ids_of(event);
    Function behave;
    {
      std::unique_lock lock(mutex_);
      released_.wait(lock, [&] { return stopped_ || !held_.contains(function.name); });
      if (stopped_) return not_reached();
      calls_.push_back({function.name, ids});
      events_.push_back(event);
      behave = behave_;
    }
    return behave ? behave(ids) : succeeded();
  }
  bool tell(const std::string&, const std::string& record) override {
    const std::scoped_lock lock(mutex_);
    ++tells_;
    if (destination_down_) return false;
    told_.push_back(record);
    return true;
  }
  void stop() override {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    released_.notify_all();
  }
  // Calls of the function hang until it is released.
  void hold(const std::string& function) {
    const std::scoped_lock lock(mutex_);
    held_.insert(function);
  }
  void release(const std::string& function) {
    const std::scoped_lock lock(mutex_);
    held_.erase(function);
    released_.notify_all();
  }

  void behave(Function function) {
    const std::scoped_lock lock(mutex_);
    behave_ = std::move(function);
  }
  void set_destination_down(bool down) {
    const std::scoped_lock lock(mutex_);
    destination_down_ = down;
  }
  struct Call {
    std::string function;
    std::vector<std::string> ids;
  };
  std::vector<Call> calls() const {
    const std::scoped_lock lock(mutex_);
    return calls_;
  }
  // The ids of all calls, or of those to one function, one after another.
  std::vector<std::string> seen(const std::string& function = {}) const {
    std::vector<std::string> all;
    for (const Call& call : calls()) {
      if (function.empty() || call.function == function)
        all.insert(all.end(), call.ids.begin(), call.ids.end());
    }
    return all;
  }
  std::vector<std::string> events() const {
    const std::scoped_lock lock(mutex_);
    return events_;
  }
  std::vector<std::string> told() const {
    const std::scoped_lock lock(mutex_);
    return told_;
  }
  int tells() const {
    const std::scoped_lock lock(mutex_);
    return tells_;
  }

 private:
  const std::set<std::string> functions_ = {"f", "g"};
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::set<std::string> held_;
  Function behave_;
  std::vector<Call> calls_;
  std::vector<std::string> events_;
  std::vector<std::string> told_;
  int tells_ = 0;
  bool destination_down_ = false;
  bool stopped_ = false;
};

}  // namespace stator::triggers

#include "database/notes.h"

#include "catalog/records.h"
#include "common/bytes.h"

namespace stator {

namespace {

constexpr std::string_view kPrefix = "mk";
constexpr int kMaxViews = 64;

}  // namespace

Task<void> Notes::keep(std::vector<Note> notes) {
  if (notes.empty()) co_return;
  std::vector<std::string> keys;
  for (const Note& note : notes) keys.push_back(std::string(kPrefix) + note.key);
  const std::function<void(const engine::Held&, engine::Batch&)> body = [&](const engine::Held&,
                                                                            engine::Batch& batch) {
    for (size_t i = 0; i < notes.size(); ++i) {
      if (notes[i].value) {
        batch.put(keys[i], *notes[i].value);
      } else {
        batch.erase(keys[i]);
      }
    }
  };
  auto committing = catalog::commit_records(engine_, ids_, "a note", keys, body);
  co_await committing;
}

Task<std::vector<Note>> Notes::kept(std::string prefix) {
  std::vector<Note> notes;
  std::string from = std::string(kPrefix) + prefix;
  const std::string end = prefix_end(from);
  int expired = 0;
  for (bool more = true; more;) {
    bool again = false;
    try {
      const auto view = engine_.view();
      auto pending = view->scan({from, end}, engine::Direction::kForward, {});
      const engine::Rows rows = co_await pending;
      for (size_t i = 0; i < rows.size(); ++i) {
        notes.push_back(
            {std::string(rows.key(i).substr(kPrefix.size())), std::string(rows.value(i))});
      }
      if (!rows.empty()) from = std::string(rows.key(rows.size() - 1)) + '\0';
      more = rows.more();
    } catch (const engine::ViewExpired&) {
      again = true;
    }
    if (again && ++expired > kMaxViews) throw engine::EngineError("views expire too fast");
  }
  co_return notes;
}

}  // namespace stator

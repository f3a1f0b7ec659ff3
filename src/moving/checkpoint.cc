#include "moving/checkpoint.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "json/reader.h"
#include "json/writer.h"

namespace stator::moving {

Checkpoint read_checkpoint(const std::filesystem::path& path, const std::string& what) {
  Checkpoint checkpoint;
  checkpoint.what = what;
  std::ifstream file(path, std::ios::binary);
  if (!file) return checkpoint;
  json::Document document;
  if (!document.parse(std::string((std::istreambuf_iterator<char>(file)), {})))
    throw std::runtime_error("the state in " + path.string() +
                             " cannot be read: remove it to start over");
  const json::Element root = document.root();
  if (json::string_member(root, "what").value_or("") != what) {
    throw std::runtime_error("the state in " + path.string() + " is of other work (" +
                             std::string(json::string_member(root, "what").value_or("?")) +
                             "): remove it, or name another file with --state");
  }
  checkpoint.items = static_cast<uint64_t>(json::int_member(root, "items").value_or(0));
  if (const auto parts = json::array_member(root, "parts")) {
    for (const json::Element part : *parts) {
      checkpoint.parts.push_back({std::string(json::string_member(part, "position").value_or("")),
                                  json::bool_member(part, "finished").value_or(false)});
    }
  }
  if (const auto notes = json::array_member(root, "notes")) {
    for (const json::Element note : *notes)
      checkpoint.notes.emplace_back(note.get_string().value_unsafe());
  }
  return checkpoint;
}

void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint) {
  std::string text;
  json::Object root(text);
  root.string("what", checkpoint.what);
  root.integer("items", static_cast<int64_t>(checkpoint.items));
  json::Array parts(root.key("parts"));
  for (const PartState& part : checkpoint.parts) {
    json::Object entry(parts.element());
    entry.string("position", part.position);
    entry.boolean("finished", part.finished);
    entry.close();
  }
  parts.close();
  json::Array notes(root.key("notes"));
  for (const std::string& note : checkpoint.notes) json::append_quoted(notes.element(), note);
  notes.close();
  root.close();
  const std::filesystem::path draft = path.string() + ".new";
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  file << text << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write the state to " + draft.string());
  std::filesystem::rename(draft, path);
}

}  // namespace stator::moving

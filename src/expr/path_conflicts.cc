#include "expr/path_conflicts.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "expr/parser.h"

namespace stator::expr {
namespace {

// Indexes before names, so that a clash always shows between neighbours of sorted paths.
bool before(const PathElement& a, const PathElement& b) {
  if (a.is_index != b.is_index) return a.is_index;
  return a.is_index ? a.index < b.index : a.name < b.name;
}

bool path_before(const Path* a, const Path* b) {
  return std::lexicographical_compare(a->elements().begin(), a->elements().end(),
                                      b->elements().begin(), b->elements().end(), before);
}

bool clash(const Path& a, const Path& b) {
  const size_t shared = std::min(a.elements().size(), b.elements().size());
  for (size_t i = 0; i < shared; ++i) {
    if (a.elements()[i].is_index != b.elements()[i].is_index) return true;
    if (!(a.elements()[i] == b.elements()[i])) return false;
  }
  return true;
}

bool any_clash(std::vector<const Path*> paths) {
  std::sort(paths.begin(), paths.end(), path_before);
  for (size_t i = 1; i < paths.size(); ++i) {
    if (clash(*paths[i - 1], *paths[i])) return true;
  }
  return false;
}

// Finds which of several clashes the service names: it puts the paths into a tree and walks it,
// newest branch first.
class Tree {
 public:
  Tree(const std::vector<const Path*>& paths, ExpressionKind kind) : paths_(paths), kind_(kind) {
    for (size_t i = 0; i < paths.size(); ++i) {
      Node* node = &root_;
      for (const PathElement& element : paths[i]->elements()) node = node->child(element, i);
      node->ends.push_back(i);
    }
  }

  void report() const { visit(root_); }

 private:
  struct Less {
    bool operator()(const PathElement& a, const PathElement& b) const { return before(a, b); }
  };
  struct Node {
    size_t born = 0;  // the path that made it
    bool is_index = false;
    std::vector<size_t> ends;  // paths that end here
    std::map<PathElement, std::unique_ptr<Node>, Less> children;

    Node* child(const PathElement& element, size_t path) {
      std::unique_ptr<Node>& node = children[element];
      if (node == nullptr) {
        node = std::make_unique<Node>();
        node->born = path;
        node->is_index = element.is_index;
      }
      return node.get();
    }
  };
  // A child, or a path that ends in the node.
  struct Entry {
    size_t age;
    const Node* child;
  };

  static std::vector<Entry> newest_first(const Node& node) {
    std::vector<Entry> entries;
    for (const auto& [element, child] : node.children)
      entries.push_back({child->born, child.get()});
    for (const size_t end : node.ends) entries.push_back({end, nullptr});
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      if (a.age != b.age) return a.age > b.age;
      return a.child == nullptr && b.child != nullptr;
    });
    return entries;
  }

  // A path that goes through the entry.
  static size_t path_of(Entry entry) {
    while (entry.child != nullptr) entry = newest_first(*entry.child).front();
    return entry.age;
  }

  void visit(const Node& node) const {
    const std::vector<Entry> entries = newest_first(node);
    const bool mixed = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      return entry.child == nullptr || entries.front().child == nullptr ||
             entry.child->is_index != entries.front().child->is_index;
    });
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].child != nullptr) visit(*entries[i].child);
      if (!mixed) continue;
      for (size_t j = 0; j < entries.size(); ++j) {
        if (i == j) continue;
        const Node* a = entries[i].child;
        const Node* b = entries[j].child;
        if (a == nullptr || b == nullptr) fail("overlap", path_of(entries[i]), path_of(entries[j]));
        if (a->is_index != b->is_index) fail("conflict", path_of(entries[i]), path_of(entries[j]));
      }
    }
  }

  [[noreturn]] void fail(const char* how, size_t a, size_t b) const {
    invalid_expression(
        kind_, std::string("Two document paths ") + how +
                   " with each other; must remove or rewrite one of these paths; path one: " +
                   paths_[std::min(a, b)]->to_string() +
                   ", path two: " + paths_[std::max(a, b)]->to_string());
  }

  const std::vector<const Path*>& paths_;
  ExpressionKind kind_;
  Node root_;
};

}  // namespace

void check_path_conflicts(const std::vector<const Path*>& paths, ExpressionKind kind) {
  if (paths.size() < 2 || !any_clash(paths)) return;
  Tree(paths, kind).report();
}

}  // namespace stator::expr

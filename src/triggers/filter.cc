#include "triggers/filter.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

namespace stator::triggers {

namespace {

using json::ArrayElement;
using json::Element;
using json::Kind;
using json::ObjectElement;

// A value that is neither object nor list. Numbers are compared as numbers, however they are
// written.
struct Null {
  bool operator==(const Null&) const = default;
};
using Scalar = std::variant<Null, bool, double, std::string>;

std::optional<Scalar> scalar_of(const Element& element) {
  switch (element.type()) {
    case Kind::NULL_VALUE:
      return Null{};
    case Kind::BOOL:
      return bool(element);
    case Kind::INT64:
    case Kind::UINT64:
    case Kind::DOUBLE:
      return double(element);
    case Kind::STRING:
      return std::string(std::string_view(element));
    default:
      return std::nullopt;
  }
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&](char x, char y) { return lower(x) == lower(y); });
}

// What a text must begin with, end with or be.
struct TextRule {
  enum class Place { kWhole, kPrefix, kSuffix } place;
  bool ignore_case;
  std::string text;

  bool matches(std::string_view value) const {
    if (place != Place::kWhole) {
      if (value.size() < text.size()) return false;
      value = place == Place::kPrefix ? value.substr(0, text.size())
                                      : value.substr(value.size() - text.size());
    }
    return ignore_case ? equal_ignoring_case(value, text) : value == text;
  }
};

struct Exists {
  bool wanted;
};

struct Bound {
  char comparison;  // '=', '<', '>'
  bool inclusive;
  double value;

  bool holds(double number) const {
    if (number == value) return inclusive;
    return comparison == '<' ? number < value : comparison == '>' && number > value;
  }
};

struct NumericRule {
  std::vector<Bound> bounds;
};

// None of these.
struct AnythingBut {
  std::vector<Scalar> values;
  std::vector<TextRule> texts;
};

using Rule = std::variant<Scalar, TextRule, Exists, NumericRule, AnythingBut>;

bool rule_matches(const Rule& rule, const Scalar& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (const auto* equal = std::get_if<Scalar>(&rule)) return *equal == value;
  if (const auto* part = std::get_if<TextRule>(&rule))
    return text != nullptr && part->matches(*text);
  if (const auto* exists = std::get_if<Exists>(&rule)) return exists->wanted;
  if (const auto* numeric = std::get_if<NumericRule>(&rule)) {
    const auto* number = std::get_if<double>(&value);
    return number != nullptr &&
           std::all_of(numeric->bounds.begin(), numeric->bounds.end(),
                       [&](const Bound& bound) { return bound.holds(*number); });
  }
  const auto& but = std::get<AnythingBut>(rule);
  if (std::find(but.values.begin(), but.values.end(), value) != but.values.end()) return false;
  return text == nullptr || std::none_of(but.texts.begin(), but.texts.end(),
                                         [&](const auto& part) { return part.matches(*text); });
}

}  // namespace

struct FilterPattern::Node {
  struct Field {
    std::string name;
    // Either rules or, for a field with a structure, the pattern of what is inside.
    std::vector<Rule> rules;
    std::shared_ptr<const Node> inside;
  };
  std::vector<Field> fields;
  std::vector<std::vector<Node>> choices;  // one of each must match

  // `value` is none where the record has nothing.
  bool matches(const std::optional<Element>& value) const;
};

namespace {

using Node = FilterPattern::Node;

bool is_absent_accepted(const std::vector<Rule>& rules) {
  return std::any_of(rules.begin(), rules.end(), [](const Rule& rule) {
    const auto* exists = std::get_if<Exists>(&rule);
    return exists != nullptr && !exists->wanted;
  });
}

void collect_scalars(const Element& element, std::vector<Scalar>& scalars) {
  ArrayElement list;
  if (element.get(list) == simdjson::SUCCESS) {
    for (const Element child : list) collect_scalars(child, scalars);
  } else if (auto scalar = scalar_of(element)) {
    scalars.push_back(std::move(*scalar));
  }
}

bool rules_match(const std::vector<Rule>& rules, const std::optional<Element>& value) {
  std::vector<Scalar> scalars;
  if (value) collect_scalars(*value, scalars);
  // Only a value counts: an object is there for those who look inside.
  if (scalars.empty()) return is_absent_accepted(rules);
  return std::any_of(scalars.begin(), scalars.end(), [&](const Scalar& scalar) {
    return std::any_of(rules.begin(), rules.end(),
                       [&](const Rule& rule) { return rule_matches(rule, scalar); });
  });
}

// Unlike json::member, sees a member that is null.
std::optional<Element> field_of(const std::optional<Element>& value, std::string_view name) {
  ObjectElement object;
  Element found;
  if (!value || value->get(object) != simdjson::SUCCESS) return std::nullopt;
  if (object.at_key(name).get(found) != simdjson::SUCCESS) return std::nullopt;
  return found;
}

// --- parsing; each gives nothing for what is not valid

std::optional<std::pair<std::string_view, Element>> only_member(const Element& element) {
  ObjectElement object;
  if (element.get(object) != simdjson::SUCCESS || object.size() != 1) return std::nullopt;
  const auto field = *object.begin();
  return std::pair(field.key, field.value);
}

std::optional<std::string> text_of(const Element& element) {
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return std::nullopt;
  return std::string(text);
}

std::optional<TextRule::Place> place_named(std::string_view name) {
  if (name == "prefix") return TextRule::Place::kPrefix;
  if (name == "suffix") return TextRule::Place::kSuffix;
  if (name == "equals-ignore-case") return TextRule::Place::kWhole;
  return std::nullopt;
}

// {"prefix": "a"}, {"prefix": {"equals-ignore-case": "a"}}, {"equals-ignore-case": "a"}
std::optional<TextRule> parse_text_rule(std::string_view name, const Element& argument) {
  const auto place = place_named(name);
  if (!place) return std::nullopt;
  TextRule rule{*place, *place == TextRule::Place::kWhole, {}};
  Element text = argument;
  if (const auto inside = only_member(argument)) {
    if (rule.ignore_case || inside->first != "equals-ignore-case") return std::nullopt;
    rule.ignore_case = true;
    text = inside->second;
  }
  auto parsed = text_of(text);
  if (!parsed) return std::nullopt;
  rule.text = std::move(*parsed);
  return rule;
}

std::optional<Bound> parse_bound(const Element& sign, const Element& value) {
  const auto text = text_of(sign);
  if (!text || !value.is_number()) return std::nullopt;
  const double number = double(value);
  if (*text == "=") return Bound{'=', true, number};
  if (*text == "<" || *text == ">") return Bound{(*text)[0], false, number};
  if (*text == "<=" || *text == ">=") return Bound{(*text)[0], true, number};
  return std::nullopt;
}

std::optional<NumericRule> parse_numeric(const Element& argument) {
  ArrayElement list;
  if (argument.get(list) != simdjson::SUCCESS) return std::nullopt;
  std::vector<Element> parts;
  for (const Element part : list) parts.push_back(part);
  if (parts.size() != 2 && parts.size() != 4) return std::nullopt;
  NumericRule rule;
  for (size_t i = 0; i < parts.size(); i += 2) {
    const auto bound = parse_bound(parts[i], parts[i + 1]);
    if (!bound) return std::nullopt;
    rule.bounds.push_back(*bound);
  }
  if (rule.bounds.size() == 2) {
    const auto& [low, high] = std::pair(rule.bounds[0], rule.bounds[1]);
    if (low.comparison != '>' || high.comparison != '<' || low.value >= high.value)
      return std::nullopt;
  }
  return rule;
}

std::optional<AnythingBut> parse_anything_but(const Element& argument) {
  AnythingBut rule;
  if (const auto inside = only_member(argument)) {
    ArrayElement list;
    if (inside->second.get(list) == simdjson::SUCCESS) {
      for (const Element one : list) {
        auto part = parse_text_rule(inside->first, one);
        if (!part) return std::nullopt;
        rule.texts.push_back(std::move(*part));
      }
    } else {
      auto part = parse_text_rule(inside->first, inside->second);
      if (!part) return std::nullopt;
      rule.texts.push_back(std::move(*part));
    }
    if (rule.texts.empty()) return std::nullopt;
    return rule;
  }
  ArrayElement list;
  std::vector<Element> values;
  if (argument.get(list) == simdjson::SUCCESS) {
    for (const Element value : list) values.push_back(value);
  } else {
    values.push_back(argument);
  }
  for (const Element& value : values) {
    auto scalar = scalar_of(value);
    if (!scalar || std::holds_alternative<Null>(*scalar)) return std::nullopt;
    rule.values.push_back(std::move(*scalar));
  }
  if (rule.values.empty()) return std::nullopt;
  return rule;
}

std::optional<Rule> parse_rule(const Element& element) {
  if (auto scalar = scalar_of(element)) return std::move(*scalar);
  const auto member = only_member(element);
  if (!member) return std::nullopt;
  const auto& [name, argument] = *member;
  if (name == "exists") {
    bool wanted = false;
    if (argument.get(wanted) != simdjson::SUCCESS) return std::nullopt;
    return Exists{wanted};
  }
  if (name == "numeric") {
    auto rule = parse_numeric(argument);
    return rule ? std::optional<Rule>(std::move(*rule)) : std::nullopt;
  }
  if (name == "anything-but") {
    auto rule = parse_anything_but(argument);
    return rule ? std::optional<Rule>(std::move(*rule)) : std::nullopt;
  }
  auto rule = parse_text_rule(name, argument);
  return rule ? std::optional<Rule>(std::move(*rule)) : std::nullopt;
}

std::optional<std::vector<Rule>> parse_rules(const ArrayElement& list) {
  std::vector<Rule> rules;
  for (const Element element : list) {
    auto rule = parse_rule(element);
    if (!rule) return std::nullopt;
    rules.push_back(std::move(*rule));
  }
  if (rules.empty()) return std::nullopt;
  return rules;
}

// "$or" means a choice if it has several patterns; otherwise it is a field of that name.
bool is_choice(std::string_view name, const Element& value) {
  ArrayElement list;
  if (name != "$or" || value.get(list) != simdjson::SUCCESS || list.size() < 2) return false;
  return std::all_of(list.begin(), list.end(),
                     [](const Element& element) { return element.is_object(); });
}

std::optional<Node> parse_node(const Element& element) {
  ObjectElement object;
  if (element.get(object) != simdjson::SUCCESS || object.size() == 0) return std::nullopt;
  Node node;
  for (const auto member : object) {
    ArrayElement list;
    if (is_choice(member.key, member.value)) {
      std::vector<Node> choice;
      for (const Element one : ArrayElement(member.value)) {
        auto parsed = parse_node(one);
        if (!parsed) return std::nullopt;
        choice.push_back(std::move(*parsed));
      }
      node.choices.push_back(std::move(choice));
      continue;
    }
    Node::Field field;
    field.name = member.key;
    if (member.value.get(list) == simdjson::SUCCESS) {
      auto rules = parse_rules(list);
      if (!rules) return std::nullopt;
      field.rules = std::move(*rules);
    } else {
      auto inside = parse_node(member.value);
      if (!inside) return std::nullopt;
      field.inside = std::make_shared<const Node>(std::move(*inside));
    }
    node.fields.push_back(std::move(field));
  }
  return node;
}

}  // namespace

bool FilterPattern::Node::matches(const std::optional<Element>& value) const {
  ArrayElement list;
  if (value && value->get(list) == simdjson::SUCCESS) {
    return std::any_of(list.begin(), list.end(),
                       [&](const Element& element) { return matches(element); });
  }
  const bool fields_match = std::all_of(fields.begin(), fields.end(), [&](const Field& field) {
    const auto found = field_of(value, field.name);
    return field.inside ? field.inside->matches(found) : rules_match(field.rules, found);
  });
  return fields_match && std::all_of(choices.begin(), choices.end(), [&](const auto& choice) {
           return std::any_of(choice.begin(), choice.end(),
                              [&](const Node& node) { return node.matches(value); });
         });
}

std::optional<FilterPattern> FilterPattern::parse(std::string_view text) {
  json::Document document;
  if (!document.parse(std::string(text))) return std::nullopt;
  auto root = parse_node(document.root());
  if (!root) return std::nullopt;
  return FilterPattern(std::make_shared<const Node>(std::move(*root)));
}

bool FilterPattern::matches(const Element& record) const {
  return root_->matches(record);
}

bool passes(const std::vector<FilterPattern>& patterns, const Element& record) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return pattern.matches(record); });
}

}  // namespace stator::triggers

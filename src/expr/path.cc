#include "expr/path.h"

namespace stator::expr {

const model::Value* Path::find(const model::Item& item) const {
  const model::Value* value = item.find(elements_.front().name);
  for (size_t i = 1; value != nullptr && i < elements_.size(); ++i) {
    const PathElement& element = elements_[i];
    if (element.is_index) {
      if (!value->is(model::Type::kList) || element.index >= value->as_list().size())
        return nullptr;
      value = &value->as_list()[element.index];
    } else {
      if (!value->is(model::Type::kMap)) return nullptr;
      value = value->as_map().find(element.name);
    }
  }
  return value;
}

std::string Path::to_string() const {
  std::string out = "[";
  for (const PathElement& element : elements_) {
    if (out.size() > 1) out += ", ";
    if (element.is_index) {
      out += '[';
      out += std::to_string(element.index);
      out += ']';
    } else {
      out += element.name;
    }
  }
  out += ']';
  return out;
}

}  // namespace stator::expr

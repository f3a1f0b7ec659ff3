#include "model/error.h"

namespace stator {

void invalid(std::string message) {
  throw ApiError("ValidationException", std::move(message));
}

}  // namespace stator

// An engine that misbehaves as much as the contract allows, around another one: it enforces the
// limits, runs bodies several times, suspends where the inner engine would not, expires views and
// reports conflicts at random. What works here does not depend on the kindness of the embedded
// engine.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/engine.h"

namespace stator::engine {

struct AdversaryOptions {
  uint64_t seed = 1;
  double rerun_probability = 0.3;  // a body runs once more with its first batch thrown away
  double conflict_probability =
      0.02;  // mutate answers kConflict (of a random holder kind) without trying
  double expire_probability = 0.01;  // a view call throws ViewExpired
  double suspend_probability = 0.3;  // a call suspends and goes on from another thread
};

std::unique_ptr<Engine> make_adversary(std::unique_ptr<Engine> inner, AdversaryOptions options);

}  // namespace stator::engine

// What the operating system says of this process, for Prometheus.
#pragma once

#include "common/metrics.h"

namespace stator::server {

void write_process_metrics(metrics::Text& text);

}  // namespace stator::server

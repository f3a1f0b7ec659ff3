// What tables and their global indexes hold and consume, for Prometheus.
#pragma once

#include "capacity/throttle.h"
#include "catalog/catalog.h"
#include "common/metrics.h"
#include "common/task.h"
#include "store/store.h"

namespace stator {

// Of the first thousand tables by name: a page that is fetched every few seconds has to stay small.
inline constexpr size_t kMostTablesShown = 1000;

Task<void> write_table_metrics(metrics::Text& text, catalog::Catalog& catalog, store::Store& store,
                               capacity::Throttle& throttle);

}  // namespace stator

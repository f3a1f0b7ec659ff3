// The jobs there are.
#pragma once

#include <memory>

#include "capacity/consumption.h"
#include "catalog/catalog.h"
#include "catalog/scaling.h"
#include "common/clock.h"
#include "store/store.h"
#include "work/job.h"

namespace stator::work {

// What jobs work on; outlives them.
struct Site {
  catalog::Catalog& catalog;
  store::Store& store;
  const Clock& clock;
};

// Erases the data of deleted tables, the entries of deleted indexes and the queues of disabled
// expiry.
std::unique_ptr<Job> make_cleaning(Site site);
// Makes the entries of new indexes, and queues the expiring items of tables whose expiry was just
// enabled.
std::unique_ptr<Job> make_backfill(Site site);
// Deletes items whose time has come, `delay_s` later than that.
std::unique_ptr<Job> make_expiry(Site site, int64_t delay_s);
// Opens new shards where those of a stream have grown old or another number of them is asked for,
// and erases what is older than a day.
std::unique_ptr<Job> make_streams(Site site);
// Makes provisioned capacity follow what is consumed of it, as scaling policies ask. Also says what
// has to be counted.
std::unique_ptr<Job> make_scaling(Site site, catalog::Scaling& scaling,
                                  capacity::Consumption& consumption);

}  // namespace stator::work

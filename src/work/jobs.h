// The jobs there are.
#pragma once

#include <filesystem>
#include <memory>

#include "capacity/consumption.h"
#include "catalog/backups.h"
#include "catalog/catalog.h"
#include "catalog/scaling.h"
#include "catalog/transfers.h"
#include "common/clock.h"
#include "engine/activity.h"
#include "objects/object_store.h"
#include "store/store.h"
#include "work/job.h"

namespace stator::work {

// What jobs work on; outlives them.
struct Site {
  catalog::Catalog& catalog;
  store::Store& store;
  const Clock& clock;
  catalog::Backups& backups;
  const engine::Activity& activity;  // the engine's
};

// Erases the data of deleted tables (but not what is a backup), backups whose time is over, the
// entries of deleted indexes and the queues of disabled expiry.
std::unique_ptr<Job> make_cleaning(Site site);
// Makes the entries of new indexes, and queues the expiring items of tables whose expiry was just
// enabled, or deletes those whose time has come, `ttl_delay_s` later than that.
std::unique_ptr<Job> make_backfill(Site site, int64_t ttl_delay_s);
// Deletes items whose time has come, `delay_s` later than that.
std::unique_ptr<Job> make_expiry(Site site, int64_t delay_s);
// Ends the history of tables whose point-in-time recovery was disabled and erases what is older
// than the recovery period of the others.
std::unique_ptr<Job> make_history_keeping(Site site);
// Copies the items of tables that are being restored.
std::unique_ptr<Job> make_restoring(Site site);
// Opens new shards where those of a stream have grown old or another number of them is asked for,
// and erases what is older than a day.
std::unique_ptr<Job> make_streams(Site site);
// Makes provisioned capacity follow what is consumed of it, as scaling policies ask. Also says what
// has to be counted.
std::unique_ptr<Job> make_scaling(Site site, catalog::Scaling& scaling,
                                  capacity::Consumption& consumption);

// What exports and imports need besides.
struct TransferSite {
  Site site;
  catalog::Transfers& transfers;
  objects::ObjectStore& objects;
  // Where the errors of imports are written: <folder>/<import id>/error. Empty: only to the
  // process's log.
  std::filesystem::path import_logs;
};

// They wait for buckets, so they have a thread of their own.
//
// Writes what tables were into buckets.
std::unique_ptr<Job> make_exporting(TransferSite site);
// Fills the tables of imports.
std::unique_ptr<Job> make_importing(TransferSite site);

}  // namespace stator::work

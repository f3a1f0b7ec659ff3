// The stored form of exports, imports and their progress. Internal to catalog.
#pragma once

#include <string>
#include <string_view>

#include "catalog/transfers.h"

namespace stator::catalog {

std::string encode_export(const Export& exported);
std::string encode_import(const Import& imported);
std::string encode_file(const ExportedFile& file);
std::string encode_progress(const ExportProgress& progress);
std::string encode_progress(const ImportProgress& progress);

// They throw CorruptRecord.
Export decode_export(std::string_view record);
Import decode_import(std::string_view record);
ExportedFile decode_file(std::string_view record);
ExportProgress decode_export_progress(std::string_view record);
ImportProgress decode_import_progress(std::string_view record);

}  // namespace stator::catalog

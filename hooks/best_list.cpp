#include "belfry/hooks/best_list.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/file.h"
#include "belfry/hooks/best_value.h"

namespace belfry::hooks {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string list_in(const std::string& folder) { return (fs::path(folder) / "best.json").string(); }

std::string word_of(Better better) { return better == Better::lower ? "lower" : "higher"; }

bool is_entry(const json& entry) {
  if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string()
      || !entry.contains("step") || !entry["step"].is_number_integer() || !entry.contains("value")
      || !entry["value"].is_number())
    return false;
  // Never a thing outside the folder.
  auto name = entry["file"].get<std::string>();
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

// Null if there is no such file.
json read_list(const std::string& folder) {
  std::string path = list_in(folder);
  std::error_code error;
  if (!fs::exists(path, error)) return nullptr;
  json list = json::parse(read_file(path), nullptr, false);
  bool whole = list.is_object() && list.contains("metric") && list["metric"].is_string()
               && list.contains("better") && list["better"].is_string() && list.contains("kept")
               && list["kept"].is_array()
               && std::all_of(list["kept"].begin(), list["kept"].end(), is_entry);
  require(whole, "`", path, "` is no list of the best; move its folder away to begin a new one");
  return list;
}

std::vector<BestEntry> entries_of(const json& list) {
  std::vector<BestEntry> entries;
  for (const json& entry : list["kept"])
    entries.push_back({entry["file"].get<std::string>(), entry["step"].get<std::int64_t>(),
                       entry["value"].get<double>()});
  return entries;
}

}  // namespace

BestList::BestList(std::string folder, std::string metric, Better better)
    : folder_(std::move(folder)), metric_(std::move(metric)), better_(better) {
  json list = read_list(folder_);
  if (list.is_null()) return;
  require(list["metric"] == metric_ && list["better"] == word_of(better_), "`", folder_,
          "` keeps the best by ", list["metric"].get<std::string>(), " (",
          list["better"].get<std::string>(), " is better), not by ", metric_, " (",
          word_of(better_), " is better); move it away to begin anew");
  entries_ = entries_of(list);
  written_ = true;
}

bool BestList::takes(double value, std::int64_t step, int keep, double min_change) const {
  if (!std::isfinite(value)) return false;
  auto same = std::ranges::find(entries_, step, &BestEntry::step);
  if (same != entries_.end()) return gain(better_, value, same->value) > min_change;
  return keep == 0 || std::ssize(entries_) < keep
         || gain(better_, value, entries_[static_cast<std::size_t>(keep) - 1].value) > min_change;
}

bool BestList::is_best(double value) const {
  return std::isfinite(value)
         && (entries_.empty() || gain(better_, value, entries_.front().value) > 0);
}

void BestList::insert(BestEntry entry) {
  std::erase_if(entries_, [&](const BestEntry& e) { return e.file == entry.file; });
  auto after = std::ranges::find_if(
      entries_, [&](const BestEntry& e) { return gain(better_, entry.value, e.value) > 0; });
  entries_.insert(after, std::move(entry));
}

void BestList::add(BestEntry entry, int keep) {
  insert(std::move(entry));
  if (keep > 0 && std::ssize(entries_) > keep) entries_.resize(static_cast<std::size_t>(keep));
  write();
}

bool BestList::has(const std::string& file) const {
  return std::ranges::find(entries_, file, &BestEntry::file) != entries_.end();
}

void BestList::write() {
  json kept = json::array();
  for (const BestEntry& e : entries_)
    kept.push_back({{"file", e.file}, {"step", e.step}, {"value", e.value}});
  json list{{"metric", metric_}, {"better", word_of(better_)}, {"kept", kept}};
  create_folders(folder_);
  write_file_atomically(list_in(folder_), list.dump(2) + "\n");
  written_ = true;
}

std::optional<std::vector<BestEntry>> read_best_list(const std::string& folder) {
  json list = read_list(folder);
  if (list.is_null()) return std::nullopt;
  return entries_of(list);
}

}  // namespace belfry::hooks

#pragma once
// The folders of exports: <dir>/<unix seconds>/, all of one there or none.

#include <functional>
#include <string>
#include <string_view>

namespace belfry {

inline constexpr std::string_view default_signature = "predict";

/// Calls fill(path) with an empty folder in `dir` (made if need be) whose name begins with a dot,
/// syncs it, and renames it to the present time in seconds, ten digits, or the next number that is
/// free. So who watches `dir` sees whole exports alone. Returns the path. After an Error the
/// temporary folder is gone; those that killed programs left behind are removed first.
std::string write_export_folder(const std::string& dir,
                                const std::function<void(const std::string&)>& fill);

/// `path` if there is a graph.json in it, else the newest export in it. Error: there is none.
std::string newest_export(const std::string& path);

}  // namespace belfry

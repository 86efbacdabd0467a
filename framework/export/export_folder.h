#pragma once
// The folders of exports: <dir>/<unix seconds>/, all of one there or none.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace belfry {

inline constexpr std::string_view default_signature = "predict";

/// Calls fill(path) with an empty folder in `dir` (made if need be) whose name begins with a dot,
/// syncs it, and renames it to the present time in seconds, ten digits, or, if that is not later
/// than the newest export there, to the next number. So who watches `dir` sees whole exports alone.
/// Returns the path. After an Error the temporary folder is gone; those that killed programs left
/// behind are removed first.
std::string write_export_folder(const std::string& dir,
                                const std::function<void(const std::string&)>& fill);

/// Paths of the exports in `dir`, oldest first: folders whose name is a time of ten digits, with a
/// graph.json. None when there is no such folder.
std::vector<std::string> list_exports(const std::string& dir);

/// `path` if there is a graph.json in it, else the newest export in it. Error: there is none; it is
/// said whether `path` is a model_dir, and which export may have been meant.
std::string newest_export(const std::string& path);

}  // namespace belfry

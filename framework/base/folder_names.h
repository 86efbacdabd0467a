#pragma once
// The names in a folder, their paths, what they are, and removals.

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace belfry {

/// The path of `name` in `folder`, which may end in a slash: operator/ of a path that does ends the
/// process in libstdc++ 12 where there is no memory.
std::string path_in(const std::string& folder, std::string_view name);

/// The names in a folder but for "." and "..", in no order; `error` is set, and there are none,
/// where it cannot be read. Where there is no memory this throws std::bad_alloc: the iterators of
/// libstdc++ that take an error_code end the process there.
std::vector<std::string> names_in_folder(const std::string& dir, std::error_code& error);

/// Error "cannot list the <what> in `dir`: <reason>; <remedy>" by the error of names_in_folder(),
/// but not where there is no such folder: who takes an unknown folder for an empty one begins anew.
void require_listed(const std::string& dir, const std::error_code& error, std::string_view what);

/// Whether the path leads to a regular file, or a folder. Error: the system does not say, so that
/// who asks would take one that it cannot look at for one that is not there.
///@{
bool is_file(const std::string& path);
bool is_folder(const std::string& path);
///@}

/// Removes a file, a link, or a folder with all that is in it; nothing where there is none. `error`
/// is set where something stays. Where there is no memory this throws std::bad_alloc, as
/// names_in_folder() does.
void remove_tree(const std::string& path, std::error_code& error);

}  // namespace belfry

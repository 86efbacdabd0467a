#pragma once
// The names in a folder.

#include <string>
#include <system_error>
#include <vector>

namespace belfry {

/// The names in a folder but for "." and "..", in no order; `error` is set, and there are none,
/// where it cannot be read. Where there is no memory this throws std::bad_alloc: the iterators of
/// libstdc++ that take an error_code end the process there.
std::vector<std::string> names_in_folder(const std::string& dir, std::error_code& error);

}  // namespace belfry

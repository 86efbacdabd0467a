#include "belfry/framework/base/folder_names.h"

#include <dirent.h>
#include <errno.h>

#include <memory>
#include <string_view>

#include "belfry/framework/base/descriptor.h"
#include "belfry/framework/base/error.h"

namespace belfry {

std::vector<std::string> names_in_folder(const std::string& dir, std::error_code& error) {
  auto set = [&] { error.assign(errno, std::generic_category()); };
  error.clear();
  auto close = [](DIR* folder) { ::closedir(folder); };
  std::unique_ptr<DIR, decltype(close)> folder(nullptr, close);
  do {
    folder.reset(::opendir(dir.c_str()));
  } while (!folder && errno == EINTR);
  if (!folder) return set(), std::vector<std::string>();
  std::vector<std::string> out;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (!entry && errno == EINTR) continue;
    if (!entry && errno != 0) return set(), std::vector<std::string>();
    if (!entry) return out;
    std::string_view name = entry->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
}

void require_listed(const std::string& dir, const std::error_code& error, std::string_view what) {
  bool known = !error || error == std::errc::no_such_file_or_directory
               || error == std::errc::not_a_directory;
  require(known, "cannot list the ", what, " in `", dir, "`: ", reason_and_remedy(error.value()));
}

}  // namespace belfry

#include "belfry/framework/base/folder_names.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string_view>

#include "belfry/framework/base/descriptor.h"
#include "belfry/framework/base/error.h"

namespace belfry {
namespace {

namespace fs = std::filesystem;

fs::file_type type_of(const std::string& path) {
  std::error_code error;
  fs::file_type type = fs::status(path, error).type();
  require(type != fs::file_type::none, "cannot look at `", path,
          "`: ", reason_and_remedy(error.value()));
  return type;
}

}  // namespace

bool is_file(const std::string& path) { return type_of(path) == fs::file_type::regular; }
bool is_folder(const std::string& path) { return type_of(path) == fs::file_type::directory; }

std::string path_in(const std::string& folder, std::string_view name) {
  return concat(folder, folder.empty() || folder.ends_with('/') ? "" : "/", name);
}

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

void remove_tree(const std::string& path, std::error_code& error) {
  error.clear();
  // The removal itself tells whether this is a folder (of a link it takes the link alone), so that
  // nothing is left behind where a status cannot be read.
  int done = retry([&] { return ::unlink(path.c_str()); });
  if (done != 0 && errno == EISDIR) {
    std::vector<std::string> names = names_in_folder(path, error);
    for (auto name = names.begin(); !error && name != names.end(); ++name)
      remove_tree(concat(path, "/", *name), error);
    if (error) return;
    done = retry([&] { return ::rmdir(path.c_str()); });
  }
  if (done != 0 && errno != ENOENT) error.assign(errno, std::generic_category());
}

void require_listed(const std::string& dir, const std::error_code& error, std::string_view what) {
  bool known = !error || error == std::errc::no_such_file_or_directory
               || error == std::errc::not_a_directory;
  require(known, "cannot list the ", what, " in `", dir, "`: ", reason_and_remedy(error.value()));
}

}  // namespace belfry

#include "belfry/data/sources/folders.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "belfry/data/formats/arrays/npy.h"
#include "belfry/framework/base/error.h"
#include "belfry/framework/base/folder_names.h"

namespace belfry::data {
namespace {

namespace fs = std::filesystem;

std::string lower(std::string s) {
  for (char& c : s) c = std::tolower(static_cast<unsigned char>(c));
  return s;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The number that begins at `at`, without leading zeros; `at` goes behind it.
std::string_view number_at(std::string_view s, std::size_t& at) {
  while (at + 1 < s.size() && s[at] == '0' && is_digit(s[at + 1])) ++at;
  std::size_t begin = at;
  while (at < s.size() && is_digit(s[at])) ++at;
  return s.substr(begin, at - begin);
}

bool natural_less(const std::string& a, const std::string& b) {
  auto byte = [](char c) { return static_cast<unsigned char>(c); };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      std::string_view m = number_at(a, i), n = number_at(b, j);
      if (m.size() != n.size()) return m.size() < n.size();
      if (m != n) return m < n;
    } else if (a[i] != b[j]) {
      return byte(a[i]) < byte(b[j]);
    } else {
      ++i, ++j;
    }
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // "01" and "1"
}

std::map<std::string, std::string> by_stem(const std::string& directory,
                                           const std::vector<std::string>& names) {
  std::map<std::string, std::string> out;
  for (const std::string& name : names) {
    auto [at, fresh] = out.emplace(fs::path(name).stem().string(), name);
    require(fresh, directory, ": ", at->second, " and ", name,
            " have the same name but for the extension; there may be one of them");
  }
  return out;
}

}  // namespace

std::vector<std::string> entries_of(const std::string& directory,
                                    const std::function<bool(const fs::path&)>& keep) {
  std::error_code error;
  std::vector<std::string> out = names_in_folder(directory, error);
  require(!error, directory, ": cannot be read: ", error.message());
  std::erase_if(out, [&](const std::string& name) { return !keep(path_in(directory, name)); });
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> files_with(const std::string& directory,
                                    const std::vector<std::string>& extensions) {
  auto out = entries_of(directory, [&](const fs::path& path) {
    std::string extension = lower(path.extension().string());
    if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end())
      return false;
    std::error_code unreadable;  // reading the file will say so
    auto type = fs::status(path, unreadable).type();
    return type != fs::file_type::directory && type != fs::file_type::fifo;
  });
  std::sort(out.begin(), out.end(), natural_less);
  return out;
}

std::vector<PathPair> pair_files(const std::string& first, const std::string& second,
                                 const std::vector<std::string>& extensions) {
  std::vector<std::string> names = files_with(first, extensions);
  by_stem(first, names);  // no name twice
  auto partners = by_stem(second, files_with(second, extensions));
  std::vector<PathPair> out;
  for (const std::string& name : names) {
    auto partner = partners.find(fs::path(name).stem().string());
    require(partner != partners.end(), first, "/", name, " has no partner in ", second);
    out.emplace_back(first + "/" + name, second + "/" + partner->second);
    partners.erase(partner);
  }
  require(partners.empty(), second, "/", partners.empty() ? "" : partners.begin()->second,
          " has no partner in ", first);
  require(!out.empty(), first, " has no files with the extension ", join(extensions, ", "));
  return out;
}

Array read_any_volume(const std::string& path, const VolumeOptions& options) {
  if (lower(fs::path(path).extension().string()) != ".npy") return read_volume(path, options);
  Array volume = read_npy(path);
  const Shape& s = volume.shape();
  require(s.rank() == 3 || s.rank() == 4, path, ": a volume is [d, h, w] or [d, h, w, c], got ", s);
  require(s[0] * s[1] * s[2] <= options.voxel_limit, path, ": ", s[0], " x ", s[1], " x ", s[2],
          " voxels are more than the limit of ", options.voxel_limit,
          "; raise .voxel_limit if the file is to be trusted");
  return s.rank() == 4 ? volume : volume.reshape({s[0], s[1], s[2], 1});
}

}  // namespace belfry::data

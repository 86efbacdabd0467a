#pragma once
// The files to begin fuzzing from: each function writes the folders of some targets into
// `folder`.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "belfry/framework/base/file.h"

namespace belfry {

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The seeds of one target.
class Seeds {
 public:
  Seeds(const std::string& folder, const char* target) : folder_(folder + "/" + target) {
    std::filesystem::create_directories(folder_);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    write_file_atomically(path(name), content);
  }

 private:
  std::string folder_;
};

void write_image_seeds(const std::string& folder);
void write_array_seeds(const std::string& folder);
void write_option_seeds(const std::string& folder);
void write_record_seeds(const std::string& folder);
void write_state_seeds(const std::string& folder);
void write_text_seeds(const std::string& folder);

}  // namespace belfry

#pragma once
// The files to begin fuzzing from: each function writes a folder for some targets into `folder`.

#include <filesystem>
#include <string>

#include "belfry/framework/base/file.h"

namespace belfry {

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
void write_record_seeds(const std::string& folder);
void write_text_seeds(const std::string& folder);

}  // namespace belfry

#pragma once
// A file that says who works in a folder.

#include <string>

#include "belfry/framework/base/descriptor.h"

namespace belfry {

/// Held by one at a time, in this process and others: those of other hosts too where the file
/// system passes locks on, as NFS does. It ends with its process, however that ends; the file goes
/// with the object. Where there are no such locks it holds nothing, with a warning. Thread rules:
/// made and destroyed on any thread.
class LockFile {
 public:
  /// Error: somebody has it, with `what` ("model_dir `x` is in use"), host, process and time, and
  /// `remedy`; the file cannot be made.
  LockFile(std::string path, const std::string& what, const std::string& remedy);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  bool acquire();
  bool is_at_path() const;
  void write_owner() const;
  std::string owner() const;

  std::string path_;
  Descriptor file_;
};

}  // namespace belfry

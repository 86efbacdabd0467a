#pragma once
// A file that appears whole or not at all, written piece by piece.

#include <cstddef>
#include <span>
#include <string>

#include "belfry/framework/base/descriptor.h"

namespace belfry {

/// A new file beside `target`, `.<name>.tmp.<pid>.<n>`, which takes its place at commit() and is
/// removed if it does not come to that. It is locked while it exists: that is how
/// remove_stale_temporaries() tells a living writer from a dead one whose process id may have been
/// used again. Functions that return an int return 0 or the system's error. Thread rules: used by
/// one thread at a time.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  int error() const { return error_; }  ///< why the file could not be created; 0 when it was

  int write(std::span<const std::span<const std::byte>> parts);
  int sync_and_close();
  /// Syncs, closes and renames it, and syncs the folder. Error: the path, the system's reason and a
  /// remedy; the target is as it was, unless the message says that it is written.
  void commit();

 private:
  bool lock();

  std::string target_, name_;
  Descriptor file_;
  Descriptor lock_;
  int error_ = 0;
};

/// Unless `error` is 0, the Error "cannot write `path`: <reason>; <remedy>".
void check_written(const std::string& path, int error);

}  // namespace belfry

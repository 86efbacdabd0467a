#pragma once
// Files: whole or not at all, and durable once a call has returned. Every Error here names the
// path, the system's reason and a remedy. All functions may be called from any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace belfry {

/// Makes `path` hold `parts`, one after the other. They are written to `.<name>.tmp.<pid>.<n>` in
/// the same folder, synced, and renamed, so that a reader, a crash or a power failure finds either
/// the old file or the new one. After an Error the temporary is gone and the old file is as it was.
/// A symbolic link at `path` is replaced, not followed. The folder must exist.
///@{
void write_file_atomically(const std::string& path,
                           std::span<const std::span<const std::byte>> parts);
void write_file_atomically(const std::string& path, std::span<const std::byte> content);
void write_file_atomically(const std::string& path, std::string_view content);
///@}

/// The content of a file, up to its end.
std::string read_file(const std::string& path);

/// A regular file open for reading at any offset. Thread rules: read() may be called from any
/// number of threads.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(const std::string& path);  ///< Error: missing, a folder, a pipe, ...
  ~RandomAccessFile();
  RandomAccessFile(const RandomAccessFile&) = delete;
  RandomAccessFile& operator=(const RandomAccessFile&) = delete;

  const std::string& path() const { return path_; }  ///< as given
  std::int64_t size() const { return size_; }        ///< in bytes, when it was opened
  /// Fills `into` with the bytes from `offset` on. Error when the file ends before, as it does when
  /// somebody cuts it while it is open.
  void read(std::int64_t offset, std::span<std::byte> into) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// Removes from folder `dir` the temporaries of writers that died, and returns how many. Those of
/// living writers, in this process or another, are locked and stay. A missing folder has none. With
/// `name`, only those of the file of that name in the folder.
int remove_stale_temporaries(const std::string& dir, std::string_view name = {});

/// Creates the folder `dir` and those above it, as far as they are missing, durably. Error, as of
/// write_file_atomically().
void create_folders(const std::string& dir);

/// Makes durable which names are in the folder `dir`, as after a rename or a link. Error, as of
/// write_file_atomically(). File systems that know no such thing are left alone.
void sync_folder(const std::string& dir);

/// Creates the folder `dir` durably if it is missing, and writes and removes a small file in it.
/// Error when that fails; `what` names the setting to change:
///   model_dir: cannot write to `runs/x`: Permission denied; change its permissions or choose
///   another model_dir
void probe_writable(const std::string& dir, std::string_view what = "model_dir");

}  // namespace belfry

#pragma once
// A disk that is full, for one process.

#include <signal.h>
#include <sys/resource.h>

namespace belfry {

/// Limits the size of files that this process may write; going beyond is an error, not a signal.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t limit) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit lowered = before_;
    lowered.rlim_cur = limit;
    ::setrlimit(RLIMIT_FSIZE, &lowered);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

}  // namespace belfry

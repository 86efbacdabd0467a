#include "belfry/framework/base/log.h"

#include <cstdio>
#include <ctime>
#include <utility>

#include "belfry/framework/base/error.h"
#include "belfry/framework/base/mutex.h"

namespace belfry {
namespace {

struct State {
  Mutex mutex;
  LogSink sink BELFRY_GUARDED_BY(mutex);
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

void write_log_line(LogLevel level, std::string_view line) {
  const char* prefix = level == LogLevel::info      ? ""
                       : level == LogLevel::warning ? "warning: "
                                                    : "error: ";
  std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::fprintf(stderr, "%02d:%02d:%02d %s%.*s\n", local.tm_hour, local.tm_min, local.tm_sec, prefix,
               static_cast<int>(line.size()), line.data());
}

LogSink set_log_sink(LogSink sink) {
  MutexLock lock(state().mutex);
  return std::exchange(state().sink, std::move(sink));
}

void log_line(LogLevel level, std::string_view line) noexcept {
  MutexLock lock(state().mutex);
  try {
    if (state().sink) return state().sink(level, line);
  } catch (...) {  // the line says more than the sink's exception
  }
  write_log_line(level, line);
}

void detail::log_lost(LogLevel level) noexcept {
  log_line(level, "memory is short: there was none for the line that belongs here");
}

void log_failure(std::string_view what, const std::exception_ptr& error) noexcept {
  try {
    detail::log_joined(LogLevel::error, what, ": ", what_of(error));
  } catch (...) {  // no memory for what the error says
    detail::log_lost(LogLevel::error);
  }
}

}  // namespace belfry

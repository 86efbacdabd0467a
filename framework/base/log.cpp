#include "belfry/framework/base/log.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace belfry {
namespace {

struct State {
  std::mutex mutex;
  LogSink sink;
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
  std::fprintf(stderr, "%s%.*s\n", prefix, static_cast<int>(line.size()), line.data());
}

LogSink set_log_sink(LogSink sink) {
  std::lock_guard lock(state().mutex);
  return std::exchange(state().sink, std::move(sink));
}

void log_line(LogLevel level, std::string_view line) {
  std::lock_guard lock(state().mutex);
  if (state().sink) {
    state().sink(level, line);
  } else {
    write_log_line(level, line);
  }
}

}  // namespace belfry

#pragma once
// Numbers and times as people read them. Internal to hooks/.

#include <array>
#include <chrono>
#include <cstdio>
#include <string>

namespace belfry::hooks {

/// As printf() does it, of at most 127 characters.
template <class... Args>
std::string printed(const char* format, Args... args) {
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(), format, args...);
  return text.data();
}

/// "01:15" or "2:01:15".
inline std::string duration_text(double seconds) {
  auto s = static_cast<long long>(seconds);
  return s < 3600 ? printed("%02lld:%02lld", s / 60, s % 60)
                  : printed("%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
}

/// Since 1970, by the system's clock.
inline double system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace belfry::hooks

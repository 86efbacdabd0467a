#pragma once
// Changes JSON as JSON, for LLVMFuzzerCustomMutator(): few of the changes that libFuzzer makes to
// bytes leave a text that can be read.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace belfry {

using Json = nlohmann::ordered_json;

/// Random changes. `words` are texts, names of members among them, that mean something where the
/// document is read; they live as long as this.
class JsonMutator {
 public:
  JsonMutator(unsigned seed, const std::vector<std::string>& words)
      : random_(seed), words_(words) {}

  std::size_t below(std::size_t bound) { return random_() % bound; }
  template <class List>
  auto& one_of(List& list) {
    return list[below(list.size())];
  }

  /// Changes one of the values in `document`.
  void change(Json& document) {
    std::vector<Json*> all;
    collect(document, all);
    Json& value = *one_of(all);
    switch (below(6)) {
      case 0:
        value = Json(*one_of(all));
        break;
      case 1:
        value = leaf();
        break;
      default:
        alter(value);
    }
  }

  /// A number, text or other small value of its own.
  Json leaf() {
    static const std::vector<Json> others{nullptr, true, false, Json::array(), Json::object(), ""};
    switch (below(4)) {
      case 0:
        return one_of(others);
      case 1:
        return one_of(words_);
      default:
        return number();
    }
  }

 private:
  static void collect(Json& value, std::vector<Json*>& all) {
    all.push_back(&value);
    if (value.is_structured())
      for (Json& inner : value) collect(inner, all);
  }

  Json number() {
    constexpr std::array<std::int64_t, 18> whole{
        0,   1,   2,     3,         4,         -1,        -2,        16,        63,
        255, 256, 65536, INT32_MAX, 1LL << 31, 1LL << 40, 1LL << 48, INT64_MAX, INT64_MIN};
    constexpr std::array fractions{0.0, 0.5, 1.0, -0.0, 1e-320, 1e300, -1e300, 1e15};
    switch (below(8)) {
      case 0:
        return UINT64_MAX;
      case 1:
        return INT64_MAX / 1000;
      case 2:
      case 3:
        return one_of(fractions);
      default:
        return one_of(whole);
    }
  }

  void alter(Json& value) {
    if (value.is_array()) {
      alter_list(value);
    } else if (value.is_object()) {
      alter_object(value);
    } else if (value.is_boolean()) {
      value = !value.get<bool>();
    } else if (value.is_number_integer() && below(2) == 0) {
      value = static_cast<std::int64_t>(value.get<std::uint64_t>() + below(5) - 2);
    } else if (value.is_number()) {
      value = number();
    } else {
      value = one_of(words_);
    }
  }

  void alter_list(Json& list) {
    if (list.empty() || below(3) == 0) {
      list.push_back(list.empty() ? leaf() : Json(one_of(list)));
    } else if (below(2) == 0) {
      list.erase(below(list.size()));
    } else {
      std::swap(one_of(list), one_of(list));
    }
  }

  void alter_object(Json& object) {
    if (object.empty() || below(3) == 0) {
      object[one_of(words_)] = leaf();
      return;
    }
    auto member = object.begin();
    std::advance(member, below(object.size()));
    if (below(3) == 0) {
      object[one_of(words_)] = Json(member.value());
    } else {
      object.erase(member);
    }
  }

  std::minstd_rand random_;
  const std::vector<std::string>& words_;
};

/// The body of an LLVMFuzzerCustomMutator(): `change(document)` where the bytes are JSON that is
/// not too deep, and now and then, as well as elsewhere, libFuzzer's own changes.
template <class Change>
std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                        Change change) {
  constexpr int deep = 64;
  bool too_deep = false;
  auto look = [&](int depth, Json::parse_event_t, const Json&) {
    too_deep |= depth > deep;
    return depth <= deep;
  };
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Json document = seed % 10 == 0 ? Json(Json::value_t::discarded) : Json::parse(text, look, false);
  if (document.is_discarded() || too_deep) return LLVMFuzzerMutate(data, size, max_size);
  try {
    change(document);
  } catch (const Json::exception&) {
    // The document is not of the form that the change is for: it stays as far as it has come.
  }
  const std::string changed = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (changed.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // namespace belfry

#include "belfry/framework/tensor/features.h"

#include <algorithm>

namespace belfry {
namespace {

template <class Items>
auto find(Items& items, std::string_view name) {
  return std::find_if(items.begin(), items.end(), [&](const auto& i) { return i.first == name; });
}

}  // namespace

Features::Features(std::initializer_list<Item> items) {
  for (const Item& item : items) {
    require(!contains(item.first), "features: the name `", item.first, "` is used twice");
    items_.push_back(item);
  }
}

bool Features::contains(std::string_view name) const { return find(items_, name) != items_.end(); }

const Array& Features::at(std::string_view name) const {
  auto item = find(items_, name);
  if (item != items_.end()) return item->second;
  std::vector<std::string> known;
  for (const Item& i : items_) known.push_back(i.first);
  fail_unknown_feature(name, known);
}

Array& Features::at(std::string_view name) {
  return const_cast<Array&>(std::as_const(*this).at(name));
}

void Features::set(std::string_view name, Array value) {
  auto item = find(items_, name);
  if (item != items_.end()) {
    item->second = std::move(value);
  } else {
    items_.emplace_back(std::string(name), std::move(value));
  }
}

Signature signature_of(const Features& features) {
  Signature out;
  out.reserve(features.size());
  for (const auto& [name, array] : features) out.emplace_back(name, array.type());
  return out;
}

bool matches(const Features& features, const Signature& signature) {
  return std::equal(features.begin(), features.end(), signature.begin(), signature.end(),
                    [](const auto& item, const auto& wanted) {
                      return item.first == wanted.first && item.second.type() == wanted.second;
                    });
}

std::string to_string(const Signature& signature) {
  std::string out;
  for (const auto& [name, type] : signature)
    out += (out.empty() ? "" : ", ") + name + " " + to_string(type);
  return out;
}

void fail_unknown_feature(std::string_view name, const std::vector<std::string>& known) {
  fail("unknown feature `", name, "`; this batch has ",
       known.empty() ? "no features" : join(known, ", "));
}

}  // namespace belfry

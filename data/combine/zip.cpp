#include "belfry/data/combine/zip.h"

#include <algorithm>
#include <exception>

#include "belfry/data/combine/combine.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

struct Input {
  std::string prefix;  // "a/", or empty
  IteratorPtr source;
  Element element = {};
};

bool is_joined(std::string_view whole, std::string_view prefix, std::string_view name) {
  return whole.size() == prefix.size() + name.size() && whole.starts_with(prefix)
         && whole.ends_with(name);
}

class Zip final : public Iterator {
 public:
  Zip(std::string name, std::vector<Input> inputs)
      : name_(std::move(name)), inputs_(std::move(inputs)) {}

  bool next(Element& out) override {
    lend(out.features);
    // All inputs go on, also when one fails, so that their elements stay side by side. One that has
    // ended does so for good, and the whole with it.
    std::exception_ptr failure;
    for (Input& input : inputs_) {
      try {
        if (!input.source->next(input.element)) return false;
      } catch (...) {
        if (is_shortage()) throw;
        if (!failure) failure = std::current_exception();
      }
    }
    copy_name(inputs_[0].element, out);
    if (failure) std::rethrow_exception(failure);
    collect(out.features);
    return true;
  }

  std::int64_t skip(std::int64_t count) override {
    for (Input& input : inputs_) count = input.source->skip(count);
    return count;
  }

  void position(Position& at) override {
    for (Input& input : inputs_) input.source->position(at);
  }

 private:
  // The arrays of an earlier element go back to where they came from, to be overwritten.
  void lend(Features& out) {
    auto item = out.begin();
    for (Input& input : inputs_)
      for (auto& [name, array] : input.element.features) {
        if (item == out.end()) return;
        std::swap(array, (item++)->second);
      }
  }

  void collect(Features& out) {
    if (!has_names(out)) rename(out);
    auto item = out.begin();
    for (Input& input : inputs_)
      for (auto& [name, array] : input.element.features) (item++)->second = std::move(array);
  }

  bool has_names(const Features& out) const {
    auto item = out.begin();
    for (const Input& input : inputs_)
      for (const auto& [name, array] : input.element.features)
        if (item == out.end() || !is_joined((item++)->first, input.prefix, name)) return false;
    return item == out.end();
  }

  void rename(Features& out) const {
    out.clear();
    for (const Input& input : inputs_)
      for (const auto& [name, array] : input.element.features) {
        std::string whole = input.prefix + name;
        require(!out.contains(whole), name_, ": there are two features `", whole,
                "`; give one of them another name");
        out.set(whole, Array());
      }
  }

  std::string name_;
  std::vector<Input> inputs_;
};

DatasetInfo info_of(const PrefixedDatasets& inputs) {
  DatasetInfo out{.cardinality = infinite, .random_access = true};
  for (const auto& [prefix, dataset] : inputs) {
    std::int64_t n = dataset.cardinality();
    out.random_access = out.random_access && dataset.info().random_access;
    if (n == 0 || out.cardinality == 0)
      out.cardinality = 0;
    else if (n == unknown || out.cardinality == unknown)
      out.cardinality = unknown;
    else if (n != infinite)
      out.cardinality = out.cardinality == infinite ? n : std::min(n, out.cardinality);
  }
  return out;
}

}  // namespace

Dataset zip_as(std::string name, PrefixedDatasets inputs) {
  require(!inputs.empty(), name, ": needs at least one dataset");
  std::vector<Dataset> datasets;
  for (auto& [prefix, dataset] : inputs) {
    datasets.push_back(dataset);
    if (!prefix.empty()) prefix += '/';
  }
  DatasetInfo info = info_of(inputs);
  auto make = [name, inputs = std::move(inputs)](const Pass& pass) {
    std::vector<Input> sources;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      sources.push_back({inputs[i].first, inputs[i].second.iterate(pass.input(i))});
    return std::make_unique<Zip>(name, std::move(sources));
  };
  info.whole = true;
  return Dataset(std::move(name), std::move(datasets), std::move(make), std::move(info));
}

Dataset zip(std::vector<Dataset> datasets) {
  PrefixedDatasets inputs;
  for (Dataset& dataset : datasets) inputs.emplace_back("", std::move(dataset));
  return zip_as("zip", std::move(inputs));
}

Dataset zip(std::vector<std::pair<std::string, Dataset>> datasets) {
  return zip_as("zip", std::move(datasets));
}

}  // namespace belfry::data

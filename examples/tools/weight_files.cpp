#include "tools/weight_files.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <regex>
#include <set>

#include "belfry/data/formats/arrays/npz.h"
#include "belfry/framework/tensor/tensor_bundle.h"

namespace belfry::programs {
namespace {

constexpr std::string_view index_suffix = ".index";
constexpr std::size_t max_name_bytes = 4096;  // as in the other formats
// std::regex calls itself for each character, with up to 16 KiB of stack where it is instrumented.
constexpr std::size_t max_matched_bytes = 256;

std::vector<std::string> write_npz(const std::string& path, const Weights& weights) {
  std::vector<std::string> notes;
  Features arrays;
  for (const auto& [name, array] : weights.tensors) {
    bool unknown = array.dtype() == DType::bf16;
    if (unknown) notes.push_back(name + ": bf16 as f32");
    arrays.set(name, unknown ? array.cast(DType::f32) : array);
  }
  data::write_npz(path, arrays);
  return notes;
}

std::vector<std::string> write_bundle(std::string prefix, const Weights& weights) {
  if (prefix.ends_with(index_suffix)) prefix.resize(prefix.size() - index_suffix.size());
  NamedArrays tensors = weights.tensors;
  auto step = weights.metadata.find("belfry.global_step");
  std::int64_t number = 0;
  if (step != weights.metadata.end()
      && std::from_chars(step->second.data(), step->second.data() + step->second.size(), number).ec
             == std::errc())
    tensors.emplace("global_step", Array::scalar(number));
  write_tensor_bundle(prefix, tensors);
  return {};
}

// As integers: f64 tells those beyond 2^53 apart no longer.
double largest_difference(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::uint64_t low = std::min(a[i], b[i]);
    largest = std::max(largest, std::max(a[i], b[i]) - low);
  }
  return largest;
}

double largest_difference(const Array& a, const Array& b) {
  if (a.dtype() == DType::i64)
    return largest_difference(a.span<std::int64_t>(), b.span<std::int64_t>());
  double largest = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    double x = a.at(i), y = b.at(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double difference = std::abs(x - y);
    if (!(difference <= largest)) largest = difference;
    if (std::isnan(largest)) return largest;
  }
  return largest;
}

}  // namespace

Weights read_weights(const std::string& path) {
  if (!path.ends_with(".npz")) return load_weights(path);
  Weights out{.path = path, .tensors = {}};
  for (const auto& [name, array] : data::read_npz(path)) {
    require(name.size() <= max_name_bytes, "in `", path, "`: a name is ", name.size(),
            " bytes long; at most ", max_name_bytes, " are allowed");
    out.tensors[name] = array;
  }
  return out;
}

void check_written_name(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  std::size_t dot = name.rfind('.');
  std::string extension = dot == std::string::npos ? "" : name.substr(dot);
  bool is_step = extension.starts_with(".ckpt-") && extension.size() > 6
                 && extension.find_first_not_of("0123456789", 6) == std::string::npos;
  bool known = extension.empty()
                   ? !name.empty()
                   : extension == ".safetensors" || extension == ".npz" || extension == index_suffix
                         || extension == ".ckpt" || is_step;
  require(known, "`", path, "` asks for no format that is known; it must end with .safetensors, ",
          ".npz, or, for a checkpoint of TensorFlow's, with .ckpt, .ckpt-STEP, .index or no ",
          "extension");
}

std::vector<std::string> write_weights(const std::string& path, const Weights& weights) {
  check_written_name(path);
  if (path.ends_with(".npz")) return write_npz(path, weights);
  if (!path.ends_with(".safetensors")) return write_bundle(path, weights);
  save_safetensors(path, weights.tensors, weights.metadata);
  return {};
}

std::vector<Difference> compare(const Weights& a, const Weights& b, double tolerance) {
  std::vector<Difference> out;
  for (const auto& [name, array] : a.tensors) {
    auto other = b.tensors.find(name);
    if (other == b.tensors.end()) {
      out.push_back({name, "only in " + a.path});
    } else if (array.type() != other->second.type()) {
      out.push_back({name, concat(array.type(), " and ", other->second.type())});
    } else if (!identical(array, other->second)) {
      double difference = largest_difference(array, other->second);
      if (tolerance == 0 || !(difference <= tolerance))
        out.push_back({name, concat("by ", difference, " at most")});
    }
  }
  for (const auto& [name, array] : b.tensors)
    if (!a.tensors.contains(name)) out.push_back({name, "only in " + b.path});
  return out;
}

void rename(Weights& weights, const std::vector<std::pair<std::string, std::string>>& names,
            const std::vector<std::pair<std::string, std::string>>& rules) {
  require(!names.empty() || !rules.empty(), "rename: there is no --name and no --rule");
  std::set<std::string> named;
  for (const auto& [from, to] : names) {
    require(weights.tensors.contains(from), "rename: ", weights.path, " has no tensor `", from,
            "`");
    require(named.insert(from).second, "rename: `", from, "` is named twice");
  }
  std::vector<std::regex> patterns;
  for (const auto& [pattern, replacement] : rules) try {
      patterns.emplace_back(pattern);
    } catch (const std::regex_error& error) {
      fail("rename: `", pattern, "` is no regular expression: ", error.what());
    }
  std::vector<bool> used(rules.size());
  auto own_name = [&](const std::string& name) -> std::optional<std::string> {
    for (const auto& [from, to] : names)
      if (from == name) return to;
    std::smatch match;
    require(rules.empty() || name.size() <= max_matched_bytes, "rename: a tensor of ", weights.path,
            " has a name of ", name.size(), " bytes; rules match names of at most ",
            max_matched_bytes, "; rename it by --name");
    for (std::size_t i = 0; i < rules.size(); ++i) try {
        if (!std::regex_match(name, match, patterns[i])) continue;
        used[i] = true;
        return match.format(rules[i].second);
      } catch (const std::regex_error& error) {
        fail("rename: `", rules[i].first, "` cannot be matched with `", name, "`: ", error.what());
      }
    return std::nullopt;
  };
  auto new_name = [&](const std::string& name) {
    if (auto own = own_name(name)) return *own;
    for (std::size_t end = name.rfind('/'); end != std::string::npos && end > 0;
         end = name.rfind('/', end - 1)) {
      std::string above = name.substr(0, end);
      if (!weights.tensors.contains(above)) continue;
      if (auto renamed = own_name(above)) return *renamed + name.substr(end);
    }
    return name;
  };
  NamedArrays out;
  for (const auto& [name, array] : weights.tensors) {
    auto [entry, is_new] = out.emplace(new_name(name), array);
    require(is_new, "rename: two tensors would be called `", entry->first, "`, one of them `", name,
            "`");
  }
  for (std::size_t i = 0; i < rules.size(); ++i)
    require(used[i], "rename: the rule `", rules[i].first, "` renames no tensor of ", weights.path,
            "; a rule must match whole names, and the first that matches counts");
  weights.tensors = std::move(out);
}

Weights average(const std::vector<std::string>& paths) {
  require(!paths.empty(), "average: there are no files");
  std::map<std::string, std::vector<double>, std::less<>> sums;
  Weights last;
  for (const std::string& path : paths) {
    Weights next = read_weights(path);
    for (const auto& [name, array] : next.tensors) {
      auto before = last.tensors.find(name);
      require(&path == &paths.front()
                  || (before != last.tensors.end() && before->second.type() == array.type()),
              "average: `", name, "` of ", path, " is not in ", last.path, ", or of another type");
      if (!is_floating(array.dtype())) continue;
      auto& sum = sums[name];
      sum.resize(array.elements());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += array.at(i);
    }
    require(&path == &paths.front() || next.tensors.size() == last.tensors.size(),
            "average: ", last.path, " has tensors that ", path, " has not");
    last = std::move(next);
  }
  for (auto& [name, sum] : sums) {
    for (double& value : sum) value /= paths.size();
    Array& array = last.tensors.at(name);
    array = Array::of(std::span<const double>(sum), array.shape()).cast(array.dtype());
  }
  return last;
}

}  // namespace belfry::programs

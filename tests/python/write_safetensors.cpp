// Writes <folder>/checkpoint.safetensors, with every type, scalars and empty tensors. With `back`,
// as second argument, reads what read_safetensors.py has written then:
//
//   rewritten.safetensors  the checkpoint, through the Python package
//   python.safetensors     the same tensors, made by numpy
//   foreign-*.safetensors  a tensor `t` each, of a type that Belfry does not have and the name says

#include <bit>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "belfry/framework/base/error.h"
#include "belfry/framework/train/checkpoint.h"

using namespace belfry;

namespace {

/// Six values, as [2, 3]; the last of them as a scalar; none of them in two shapes.
template <class T>
void add(NamedArrays& to, const std::vector<T>& values) {
  DType dtype = dtype_of<T>;
  Array six(Shape{2, 3}, dtype), one(Shape{}, dtype);
  std::copy(values.begin(), values.end(), six.span<T>().begin());
  one.span<T>()[0] = values.back();
  std::string name = to_string(dtype);
  to[name + "/values"] = six;
  to[name + "/scalar"] = one;
  to[name + "/none"] = Array(Shape{0}, dtype);
  to[name + "/hollow"] = Array(Shape{3, 0, 2}, dtype);
}

template <class T>
std::vector<T> from_bits(std::initializer_list<std::uint16_t> all) {
  std::vector<T> out;
  for (std::uint16_t bits : all) out.push_back(std::bit_cast<T>(bits));
  return out;
}

NamedArrays tensors() {
  using Double = std::numeric_limits<double>;
  using Float = std::numeric_limits<float>;
  using I64 = std::numeric_limits<std::int64_t>;
  using I32 = std::numeric_limits<std::int32_t>;
  NamedArrays out;
  add<double>(out, {0.1, -0.0, Double::infinity(), -Double::infinity(), Double::denorm_min(),
                    Double::max()});
  add<float>(
      out, {0.1f, -0.0f, Float::infinity(), -Float::infinity(), Float::denorm_min(), Float::max()});
  add(out, from_bits<BFloat16>({0x3DCD, 0x8000, 0x7F80, 0xFF80, 0x0001, 0x7F7F}));
  add(out, from_bits<Float16>({0x2E66, 0x8000, 0x7C00, 0xFC00, 0x0001, 0x7BFF}));
  add<std::int64_t>(out, {0, -1, I64::min(), -7, std::int64_t{1} << 40, I64::max()});
  add<std::int32_t>(out, {0, -1, I32::min(), -7, 1 << 20, I32::max()});
  add<std::uint8_t>(out, {0, 1, 127, 128, 254, 255});
  add<bool>(out, {false, true, false, false, false, true});
  out["scope/ünï"] = Array::scalar(std::bit_cast<float>(0x7FC00123));  // a NaN of its own
  return out;
}

void check_equal(const NamedArrays& found, const std::string& where) {
  NamedArrays expected = tensors();
  require(found.size() == expected.size(), where, ": ", found.size(), " tensors");
  for (const auto& [name, array] : expected) {
    require(found.contains(name), where, ": no ", name);
    require(identical(found.at(name), array), where, ": ", name, " differs");
  }
}

void read_back(const std::string& folder) {
  Checkpoint rewritten = load_checkpoint(folder + "/rewritten.safetensors");
  check_equal(rewritten.variables, "rewritten");
  require(rewritten.step == 12 && rewritten.input == "at {7}", "rewritten: another checkpoint");
  check_equal(load_safetensors(folder + "/python.safetensors").tensors, "python");
  int foreign = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().stem(), type = name.substr(name.find('-') + 1), error;
    if (!name.starts_with("foreign-")) continue;
    try {
      load_safetensors(entry.path());
    } catch (const Error& refusal) {
      error = refusal.what();
    }
    require(error
                == concat("unknown dtype `", type,
                          "`; expected one of I64, F64, F32, I32, BF16, F16, U8, BOOL (tensor "
                          "`t`) (in `",
                          entry.path().string(), "`)"),
            name, ": `", error, "`");
    ++foreign;
  }
  require(foreign == 9, "there are ", foreign, " files of types that Belfry does not have");
}

}  // namespace

int main(int count, char** arguments) try {
  std::string folder = arguments[1];
  if (count > 2) {
    read_back(folder);
    return 0;
  }
  write_checkpoint(folder + "/checkpoint.safetensors", {.variables = tensors(),
                                                        .step = 12,
                                                        .seed = ~std::uint64_t{0},
                                                        .input = "at {7}",
                                                        .hooks = {{"best", "{\"loss\": 1}"}},
                                                        .config = "{\"seed\": 1}"});
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

// Hostile safetensors files: bad ones made by hand, and a good one with any byte of its header
// replaced by any other. Each is refused, or is what it was, and no memory is asked for beyond the
// file's size. BELFRY_EXHAUSTIVE tries all values of all bytes, else a sample is.
#include "bad_safetensors.h"

#include <cstdlib>
#include <new>
#include <set>

#include "../../fuzz/memory_file.h"
#include "belfry/framework/tensor/philox.h"
#include "safetensors_files.h"

namespace {

// The largest number of bytes that was asked for at once.
std::size_t largest_request = 0;

void* noted(std::size_t size, std::size_t alignment) {
  largest_request = std::max(largest_request, size);
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment, size) != 0) return nullptr;
  return memory;
}

}  // namespace

// All that this program allocates goes through these: what C++ makes, and arrays.
void* operator new(std::size_t size) {
  if (void* memory = noted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return noted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return noted(size, alignment);
}

namespace belfry {
namespace {

using ::testing::HasSubstr;

// Room for what does not grow with the file: texts of errors, one tensor's entry.
constexpr std::size_t room = 4096;

template <class Read>
std::string error_of_reading(const std::string& bytes, Read read) {
  MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  std::string path = file.path(), error;
  largest_request = 0;
  try {
    read(path);
  } catch (const Error& refusal) {
    error = refusal.what();
    EXPECT_THAT(error, ::testing::EndsWith("(in `" + path + "`)"));
    error.resize(error.rfind(" (in "));
  }
  EXPECT_LE(largest_request, bytes.size() + room) << bytes.substr(0, 1000);
  return error;
}

std::string error_of_file(const std::string& bytes) {
  return error_of_reading(bytes, [](const std::string& path) { load_safetensors(path); });
}
std::string error_of_its_header(const std::string& bytes) {
  return error_of_reading(bytes, [](const std::string& path) { read_safetensors_header(path); });
}

TEST(BadSafetensors, EachIsRefused) {
  std::set<std::string> seen;
  for (const BadFile& file : bad_safetensors()) {
    SCOPED_TRACE(file.bytes.substr(0, 200));
    std::string error = error_of_file(file.bytes);
    EXPECT_THAT(error, HasSubstr(file.message));
    EXPECT_EQ(error_of_its_header(file.bytes), file.in_header ? error : "");
    EXPECT_TRUE(seen.insert(file.bytes).second) << "is there twice";
  }
  EXPECT_GE(seen.size(), 80u);
  RecordProperty("files", static_cast<int>(seen.size()));
}

TEST(BadSafetensors, TheCountOfMemoryWorks) {
  std::string header = "{" + tensor("w", "U8", "100000", "0,100000") + "}";
  EXPECT_EQ(error_of_file(file_of(header, 100'000)), "");
  EXPECT_GE(largest_request, 100'000u);
}

bool same(const Safetensors& a, const Safetensors& b) {
  if (a.metadata != b.metadata || a.tensors.size() != b.tensors.size()) return false;
  for (const auto& [name, array] : a.tensors)
    if (!b.tensors.contains(name) || !identical(array, b.tensors.at(name))) return false;
  return true;
}

/// Calls `check` with each byte of the header's length and text replaced by other values.
template <class Check>
void for_each_changed_byte(const std::string& good, std::size_t data_bytes, Check check) {
  bool all = std::getenv("BELFRY_EXHAUSTIVE") != nullptr;
  PhiloxStream random(philox_key(22, "bytes"));
  for (std::size_t at = 0; at < good.size() - data_bytes; ++at) {
    std::string bytes = good;
    for (int i = 1; i < (all ? 256 : 17); ++i) {
      auto add = all ? static_cast<unsigned>(i) : 1 + static_cast<unsigned>(random.below(255));
      bytes[at] = static_cast<char>(static_cast<unsigned char>(good[at]) + add);
      check(bytes, concat("byte ", at, " is ", static_cast<unsigned char>(bytes[at])));
    }
  }
}

TEST(ChangedHeaderBytes, OfBelfrysFilesAreSeen) {
  TemporaryFolder folder;
  std::string path = folder / "good";
  save_safetensors(path, all_types(), metadata);
  std::string good = read_file(path);
  Safetensors content = load_safetensors(path);
  std::size_t data_bytes = 0;
  for (const auto& [name, array] : content.tensors)
    data_bytes += static_cast<std::size_t>(array.bytes());
  int refused = 0, harmless = 0;
  for_each_changed_byte(good, data_bytes, [&](const std::string& bytes, const std::string& what) {
    bool unchanged = false;
    std::string error = error_of_reading(bytes, [&](const std::string& changed) {
      unchanged = same(load_safetensors(changed), content);
    });
    EXPECT_TRUE(unchanged || !error.empty()) << what;
    ++(unchanged ? harmless : refused);
  });
  // Three kinds of white space may take the place of each other in the padding, of up to 7 bytes.
  EXPECT_LE(harmless, 7 * 3);
  EXPECT_GT(refused, 5000);
}

// Another name or shape cannot be seen without a checksum.
TEST(ChangedHeaderBytes, OfOtherProgramsNeverCrash) {
  std::string good = file_of("{\"__metadata__\":{\"k\":\"v\"}," + tensor("a", "F32", "2,2", "0,16")
                                 + "," + tensor("b", "U8", "", "16,17") + "}",
                             17);
  EXPECT_EQ(error_of_file(good), "");
  int refused = 0, loaded = 0;
  for_each_changed_byte(good, 17, [&](const std::string& bytes, const std::string& what) {
    SCOPED_TRACE(what);
    ++(error_of_file(bytes).empty() ? loaded : refused);
  });
  EXPECT_GT(loaded, 0);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace belfry

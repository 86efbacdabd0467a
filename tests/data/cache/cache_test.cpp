#include "belfry/data/cache/cache.h"

#include <atomic>
#include <filesystem>

#include "../../framework/base/temporary_folder.h"
#include "belfry/framework/base/file.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using Words = std::vector<std::string>;

// Counts the elements that are computed; their values depend on the epoch.
Transform counted(std::atomic<int>& computed) {
  return map([&](Features in, PhiloxStream& random) {
    ++computed;
    auto& value = in.at("value").span<std::int64_t>()[0];
    value = value * 100 + static_cast<std::int64_t>(random.below(100));
    return in;
  });
}

TEST(Cache, ComputesEachElementOnce) {
  for (const Dataset& source : {range(7), streamed(7)}) {
    std::atomic<int> computed = 0;
    Dataset data = source | counted(computed) | cache() | repeat(3);
    Words seen = words(data);
    ASSERT_EQ(seen.size(), 21u);
    EXPECT_EQ(computed, 7);
    EXPECT_TRUE(std::equal(seen.begin(), seen.begin() + 7, seen.begin() + 7));
    EXPECT_EQ(words(data), seen);  // another stream
    EXPECT_EQ(computed, 7);
  }
}

TEST(Cache, GivesTheSameElementsAsWithout) {
  for (const Dataset& source : {range(7), streamed(7)}) {
    std::atomic<int> computed = 0;
    Words once = words(source | counted(computed));
    Dataset none = source | counted(computed) | cache({.memory = Bytes(0)}) | repeat(2);
    Dataset some = source | counted(computed) | cache({.memory = Bytes(1000)}) | repeat(2);
    Words twice = once;
    twice.insert(twice.end(), once.begin(), once.end());
    EXPECT_EQ(words(none), twice);
    EXPECT_EQ(words(some), twice);
    expect_resumes(some);
  }
}

TEST(Cache, KeepsRandomAccess) {
  std::atomic<int> computed = 0;
  Dataset data = range(50) | counted(computed) | cache() | shuffle(50) | repeat(3);
  Words seen = words(data);
  EXPECT_EQ(computed, 50);
  EXPECT_NE(Words(seen.begin(), seen.begin() + 50), Words(seen.begin() + 50, seen.begin() + 100));
  EXPECT_EQ(words(data | prefetch(3)), seen);
  expect_resumes(data);
}

TEST(Cache, ConsumersMayOverwriteWhatTheyGet) {
  Dataset data = range(3) | cache() | repeat(2);
  InputStreamPtr stream = open(data);
  Features element;
  while (stream->next(element)) element.at("value").span<std::int64_t>()[0] = -1;
  EXPECT_EQ(values(data), (Values{0, 1, 2, 0, 1, 2}));
}

TEST(Cache, ElementsThatFailAreTriedAgain) {
  Dataset data = range(3) | failing_at({1}) | cache() | repeat(2);
  EXPECT_EQ(words(data), (Words{"0", "error: bad value 1 (at element 1, epoch 0)", "2", "0",
                                "error: bad value 1 (at element 1, epoch 0)", "2"}));
}

class CacheFile : public ::testing::Test {
 protected:
  bool is_there() const { return std::filesystem::exists(path); }
  TemporaryFolder folder;
  std::string path = folder.path() + "/cache";
  std::atomic<int> computed = 0;
};

TEST_F(CacheFile, AppearsAfterAWholePass) {
  Dataset data = streamed(7) | counted(computed) | cache(path);
  Words all = words(data);
  EXPECT_TRUE(is_there());
  EXPECT_EQ(words(data | repeat(2)).size(), 14u);
  EXPECT_EQ(words(data), all);
  EXPECT_EQ(computed, 7);
  EXPECT_EQ(words(streamed(7) | counted(computed) | cache(path)), all);  // as another program
  EXPECT_EQ(computed, 7);
  expect_resumes(data);
}

TEST_F(CacheFile, IsNotThereAfterAPartOfAPass) {
  Dataset data = streamed(7) | counted(computed) | cache(path);
  words(*open(data), 6);
  EXPECT_FALSE(is_there());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  std::filesystem::create_directory(folder.path() + "/x");
  expect_resumes(streamed(7) | cache(path));  // begun in the middle: nothing whole can be written
}

TEST_F(CacheFile, IsNotWrittenAroundAFailure) {
  words(range(3) | failing_at({1}) | cache(path));
  EXPECT_FALSE(is_there());
}

TEST_F(CacheFile, DamageIsAnErrorThatNamesTheFile) {
  words(range(5) | cache(path));
  std::string whole = read_file(path);
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    write_file_atomically(path, std::string_view(whole).substr(0, size));
    EXPECT_THAT(error_of([&] { words(*open(range(5) | cache(path))); }),
                ::testing::HasSubstr(path));
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    write_file_atomically(path, damaged);
    Words seen;
    std::string error = error_of([&] { seen = words(*open(range(5) | cache(path))); });
    // An element that is damaged is an error in its place.
    bool found = error != "no error" || seen != words(range(5));
    EXPECT_TRUE(found) << "byte " << i;
  }
}

TEST_F(CacheFile, RemovesWhatKilledWritersOfItLeft) {
  auto write = [&](const std::string& name) { write_file_atomically(folder / name, "x"); };
  // Temporaries that nobody has locked, as after SIGKILL, and files that only look like them.
  for (const char* name : {".cache.tmp.4194305.0", ".cache.tmp.77.12", ".cache.2.tmp.77.12",
                           ".other.tmp.77.12", ".cache.tmp.notes", "cache.tmp.77.12"})
    write(name);
  InputStreamPtr living = open(streamed(7) | cache(path));
  words(*living, 3);
  const std::set<std::string> others{".cache.2.tmp.77.12", ".other.tmp.77.12", ".cache.tmp.notes",
                                     "cache.tmp.77.12"};
  std::set<std::string> left = folder.names();
  ASSERT_EQ(left.size(), others.size() + 1);  // and that of the living writer
  words(streamed(7) | snapshot(path + "2"));
  left.insert("cache2");
  EXPECT_EQ(folder.names(), left);
  words(*living);  // to its end
  std::set<std::string> wanted = others;
  wanted.insert({"cache", "cache2"});
  EXPECT_EQ(folder.names(), wanted);
}

TEST_F(CacheFile, SnapshotIsWrittenAtOnceAndHasRandomAccess) {
  Dataset data = streamed(20) | counted(computed) | snapshot(path);
  EXPECT_EQ(computed, 20);
  EXPECT_EQ(data.cardinality(), 20);
  EXPECT_TRUE(data.info().random_access);
  EXPECT_EQ(words(data), words(streamed(20) | counted(computed)));
  EXPECT_EQ(words(from_snapshot(path)), words(data));
  expect_resumes(data | shuffle(20) | repeat(2));
  EXPECT_THAT(error_of([&] { streamed(3) | failing_at({1}) | snapshot(path + "2"); }),
              ::testing::HasSubstr("bad value 1"));
  EXPECT_FALSE(std::filesystem::exists(path + "2"));
}

TEST_F(CacheFile, IsPassedOver) {
  Dataset data = streamed(20) | cache(path);
  words(data);  // writes it
  auto some = [](Dataset data) { return words(data | batch(3) | skip(2) | take(2)); };
  EXPECT_EQ(some(data), some(streamed(20)));
  EXPECT_EQ(words(data | skip(21)), words(streamed(0)));
}

TEST_F(CacheFile, HoldsArraysOfAllKinds) {
  Features arrays{{"a", Array::of<float>({1.5f, -2, 3, 4}, {2, 2})},
                  {"flag", Array::of({true, false})},
                  {"none", Array(Shape{2, 0}, DType::f64)},
                  {"text", Array::of<std::uint8_t>({7, 8}, {2, 1})}};
  from_arrays(arrays) | snapshot(path);
  InputStreamPtr wanted = open(from_arrays(arrays)), got = open(from_snapshot(path));
  Features a, b;
  while (wanted->next(a)) {
    ASSERT_TRUE(got->next(b));
    for (const auto& [name, array] : a) EXPECT_TRUE(identical(array, b.at(name))) << name;
  }
  EXPECT_FALSE(got->next(b));
}

}  // namespace
}  // namespace belfry::data

#include "belfry/data/formats/images/tiff_header.h"

#include "../image_bytes.h"
#include "pipeline.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;

std::vector<TiffPage> pages(const std::string& file) { return tiff_pages(as_bytes(file), "a.tif"); }

std::string error(const std::string& file) {
  return error_of([&] { pages(file); });
}

const TiffFixture grey{.h = 2, .w = 3, .pixels = "123456"};
const TiffFixture colour{
    .h = 1, .w = 2, .channels = 3, .bits = 16, .photometric = 2, .pixels = "abcdefghijkl"};

TEST(TiffHeader, ReadsAllFourKinds) {
  for (bool big_endian : {false, true})
    for (bool big : {false, true}) {
      std::string file = tiff({grey, colour}, big_endian, big);
      std::vector<TiffPage> read = pages(file);
      ASSERT_EQ(read.size(), 2u);
      EXPECT_EQ(read[0], (TiffPage{.h = 2,
                                   .w = 3,
                                   .channels = 1,
                                   .bits = 8,
                                   .photometric = 1,
                                   .directory = big ? 24 : 16}));
      EXPECT_EQ(read[1].channels, 3);
      EXPECT_EQ(read[1].bits, 16);
      EXPECT_EQ(read[1].photometric, 2);
      EXPECT_EQ(read[1].h, 1);
      EXPECT_EQ(read[1].w, 2);
      EXPECT_EQ(describe(read[1]),
                "1 x 2 pixels of 3 unsigned samples of 16 bits, photometric interpretation 2");
    }
  TiffFixture floats{.bits = 32, .format = 3, .pixels = "1234"};
  EXPECT_EQ(pages(tiff({floats}))[0].samples, TiffSamples::floating);
  std::string file = tiff({grey, colour});
  EXPECT_EQ(tiff_pages(as_bytes(file), "a.tif", 1).size(), 1u);
}

TEST(TiffHeader, KnowsItsOwn) {
  EXPECT_TRUE(is_tiff(as_bytes(tiff({grey}))));
  EXPECT_TRUE(is_tiff(as_bytes(tiff({grey}, true, true))));
  EXPECT_FALSE(is_tiff(as_bytes("II*")));
  EXPECT_FALSE(is_tiff(as_bytes("MM*\0")));
  EXPECT_EQ(error("PNG"), "a.tif: not TIFF data: they do not begin with II or MM and 42 or 43");
}

TEST(TiffHeader, SaysWhatIsWrong) {
  std::string none = "II" + number(42, 2) + number(0, 4);
  EXPECT_EQ(error(none), "a.tif: TIFF data without a page");
  std::string beyond = "II" + number(42, 2) + number(100, 4);
  EXPECT_EQ(error(beyond),
            "a.tif: truncated: the first directory is at byte 100 but the data end at byte 8");
  TiffFixture greedy = grey;
  greedy.claimed = 1000;
  std::string file = tiff({greedy});
  EXPECT_EQ(error(file), concat("a.tif: truncated: pixels at byte 8 take 1000 bytes but the data "
                                "end at byte ",
                                file.size()));
  TiffFixture empty = grey;
  empty.w = 0;
  EXPECT_THAT(error(tiff({empty})), HasSubstr("states no width or height from 1 to 2^31 - 1"));
}

TEST(TiffHeader, StripsAreNotMuchLargerThanTheirPage) {
  TiffFixture page = grey;
  page.rows_per_strip = 1000;
  EXPECT_EQ(error(tiff({page})), "no error");
  page.rows_per_strip = 2'000'000;
  EXPECT_EQ(error(tiff({page})),
            "a.tif: the directory at byte 16 states strips or tiles of 2e+06 x 3 pixels for a page "
            "of 2 x 3");
}

TEST(TiffHeader, DirectoriesThatFormACircleAreAnError) {
  std::string file = tiff({grey, grey});
  std::string first = file.substr(4, 4);
  file.replace(file.size() - 4, 4, first);
  EXPECT_EQ(error(file), "a.tif: the directories form a circle through byte 16");
}

TEST(TiffHeader, DirectoriesCannotAskForEndlessWork) {
  // Overlapping directories: at each even byte one of 0x0101 entries, and a link to the next.
  std::string file = "II" + number(42, 2) + number(8, 4) + std::string(6000, '\1');
  EXPECT_THAT(error(file), HasSubstr("a.tif: "));
  // Two directories that share one long list of offsets.
  std::string two = tiff({grey, grey});
  auto widen = [&](std::size_t directory) {
    for (std::size_t entry : {5u, 8u})
      two.replace(directory + 2 + 12 * entry + 4, 4, number(150, 4));
  };
  widen(16);
  EXPECT_THAT(error(two), HasSubstr("a.tif: "));
}

TEST(TiffHeader, EveryTruncationIsAnError) {
  for (bool big : {false, true}) {
    std::string file = tiff({grey, colour}, false, big);
    ASSERT_EQ(error(file), "no error");
    for (std::size_t length = 0; length < file.size(); ++length)
      EXPECT_NE(error(file.substr(0, length)), "no error") << length;
  }
}

TEST(TiffHeader, DamageIsAnErrorOrReadsAsSomething) {
  std::string file = tiff({grey, colour});
  PhiloxStream random(philox_key(2, "damage"));
  for (int i = 0; i < 2000; ++i) {
    std::string bad = file;
    bad[4 + random.below(bad.size() - 4)] = static_cast<char>(random.below(256));
    std::string message = error(bad);
    EXPECT_TRUE(message == "no error" || message.starts_with("a.tif: ")) << message;
  }
}

}  // namespace
}  // namespace belfry::data

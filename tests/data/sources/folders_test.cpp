#include "belfry/data/sources/folders.h"

#include <sys/stat.h>

#include "belfry/data/formats/arrays/npy.h"
#include "formats/image_bytes.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::StartsWith;

class Folders : public ::testing::Test {
 protected:
  void write_all(const std::string& folder, const std::vector<std::string>& names) const {
    for (const std::string& name : names) files_.write(folder + "/" + name, "");
  }
  // The names of both files of each pair, less their folders: "1.jpg 1.png".
  Words pairs() const {
    Words out;
    for (const auto& [a, b] : pair_files(files_ / "a", files_ / "b", image_extensions)) {
      EXPECT_THAT(a, StartsWith(files_ / "a/"));
      EXPECT_THAT(b, StartsWith(files_ / "b/"));
      out.push_back(a.substr((files_ / "a/").size()) + " " + b.substr((files_ / "b/").size()));
    }
    return out;
  }
  std::string pairing_error() const {
    return error_of([&] { pairs(); });
  }
  SourceFiles files_;
};

TEST_F(Folders, EntriesAreSortedInBytes) {
  write_all("d", {"b", "a", "B", "10", "2"});
  auto all = [](const std::filesystem::path&) { return true; };
  EXPECT_EQ(entries_of(files_ / "d", all), (Words{"10", "2", "B", "a", "b"}));
  EXPECT_EQ(entries_of(files_.path(),
                       [](const auto& path) { return !std::filesystem::is_directory(path); }),
            Words{});
  EXPECT_EQ(error_of([&] { entries_of(files_ / "gone", all); }),
            (files_ / "gone") + ": cannot be read: No such file or directory");
  EXPECT_THAT(error_of([&] { entries_of(files_ / "d/a", all); }),
              StartsWith((files_ / "d/a") + ": cannot be read"));
}

TEST_F(Folders, DigitsInNamesAreNumbers) {
  write_all("d", {"10.png", "2.png", "1.png", "02.png", "x2y10.png", "x2y9.png", "x10y1.png",
                  "a.png", "a1.png", "\xc3\xa9.png", "00.png", "18446744073709551616.png",
                  "18446744073709551617.png"});
  EXPECT_EQ(files_with(files_ / "d", image_extensions),
            (Words{"00.png", "1.png", "02.png", "2.png", "10.png", "18446744073709551616.png",
                   "18446744073709551617.png", "a.png", "a1.png", "x2y9.png", "x2y10.png",
                   "x10y1.png", "\xc3\xa9.png"}));
}

TEST_F(Folders, ExtensionsCountInAnyCase) {
  write_all("d", {"a.JPG", "b.jpeg", "c.Png", "d.txt", "e", "f.png.bak", ".png", "g.bmp",
                  "folder.png/x", "h.webp", "i.tif"});
  std::string pipe = files_ / "d/pipe.png";  // reading it would wait for ever
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(files_with(files_ / "d", image_extensions),
            (Words{"a.JPG", "b.jpeg", "c.Png", "g.bmp", "h.webp"}));
  EXPECT_EQ(files_with(files_ / "d", volume_extensions), Words{"i.tif"});
}

TEST_F(Folders, ALinkToNothingIsAFile) {
  write_all("d", {"a.png"});
  std::filesystem::create_symlink("nowhere", files_ / "d/b.png");
  std::filesystem::create_symlink("loop.png", files_ / "d/loop.png");
  EXPECT_EQ(files_with(files_ / "d", image_extensions), (Words{"a.png", "b.png", "loop.png"}));
}

TEST_F(Folders, FilesOfTheSameNameArePairs) {
  write_all("a", {"10.jpg", "2.JPG", "x.y.png", "notes.txt"});
  write_all("b", {"2.png", "x.y.bmp", "10.png"});
  EXPECT_EQ(pairs(), (Words{"2.JPG 2.png", "10.jpg 10.png", "x.y.png x.y.bmp"}));
}

TEST_F(Folders, AFileWithoutPartnerIsAnError) {
  write_all("a", {"1.png", "2.png"});
  write_all("b", {"1.png"});
  EXPECT_EQ(pairing_error(), (files_ / "a/2.png") + " has no partner in " + (files_ / "b"));
  write_all("b", {"2.png", "3.png"});
  EXPECT_EQ(pairing_error(), (files_ / "b/3.png") + " has no partner in " + (files_ / "a"));
}

TEST_F(Folders, TwoFilesOfOneNameAreAnError) {
  write_all("a", {"1.png", "1.jpg"});
  write_all("b", {"1.png"});
  EXPECT_EQ(pairing_error(), (files_ / "a")
                                 + ": 1.jpg and 1.png have the same name but for the extension; "
                                   "there may be one of them");
  std::filesystem::remove(files_ / "a/1.jpg");
  write_all("b", {"1.bmp"});
  EXPECT_THAT(pairing_error(), StartsWith((files_ / "b") + ": 1.bmp and 1.png have the same name"));
}

TEST_F(Folders, NoFilesAreAnError) {
  write_all("a", {"1.txt"});
  write_all("b", {"1.txt"});
  EXPECT_EQ(pairing_error(),
            (files_ / "a") + " has no files with the extension .jpg, .jpeg, .png, .bmp, .webp");
}

TEST_F(Folders, VolumesHaveFourAxes) {
  Array plain = Array::of<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  std::string path = files_ / "v.NPY";
  write_npy(path, plain);
  EXPECT_TRUE(identical(read_any_volume(path, {}), plain.reshape({2, 2, 2, 1})));
  write_npy(path, plain.reshape({1, 2, 2, 2}));
  EXPECT_TRUE(identical(read_any_volume(path, {}), plain.reshape({1, 2, 2, 2})));
  EXPECT_EQ(read_any_volume(path, {.voxel_limit = 4}).elements(), 8);  // of two channels
  EXPECT_EQ(error_of([&] { read_any_volume(path, {.voxel_limit = 3}); }),
            path + ": 1 x 2 x 2 voxels are more than the limit of 3; raise .voxel_limit if the file "
                   "is to be trusted");
  write_npy(path, plain.reshape({4, 2}));
  EXPECT_EQ(error_of([&] { read_any_volume(path, {}); }),
            path + ": a volume is [d, h, w] or [d, h, w, c], got [4, 2]");
  std::string stack = files_.write(
      "s.tiff", tiff({{.h = 1, .w = 2, .pixels = "ab"}, {.h = 1, .w = 2, .pixels = "cd"}}));
  EXPECT_TRUE(identical(read_any_volume(stack, {}),
                        Array::of<std::uint8_t>({'a', 'b', 'c', 'd'}, {2, 1, 2, 1})));
  EXPECT_THAT(error_of([&] { read_any_volume(stack, {.voxel_limit = 3}); }), StartsWith(stack));
}

}  // namespace
}  // namespace belfry::data

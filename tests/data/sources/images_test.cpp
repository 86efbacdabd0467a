#include "belfry/data/formats/arrays/npy.h"
#include "belfry/data/sources/media.h"
#include "formats/image_bytes.h"
#include "source_files.h"

namespace belfry::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// All pixels and channels have this value.
Array flat(std::uint8_t value, std::int64_t h = 2, std::int64_t w = 3, std::int64_t c = 3) {
  Array out({h, w, c}, DType::u8);
  for (auto& x : out.span<std::uint8_t>()) x = value;
  return out;
}

// How many elements a stream's maps have yielded: images decoded.
std::int64_t decoded(const InputStream& stream) {
  for (const InputStage& stage : stream.stages())
    if (stage.name == "map") return stage.elements;
  return -1;
}

class Images : public ::testing::Test {
 protected:
  std::string write_png(const std::string& name, const Array& image) const {
    return files_.write(name, encode_png(image));
  }
  // Classes "cat" and "dog" with images whose pixels are 1, 2, 10 and 101, 102.
  std::string pets() const {
    for (std::uint8_t i : {10, 1, 2}) write_png(concat("pets/cat/", i, ".png"), flat(i));
    write_png("pets/dog/2.PNG", flat(102));
    write_png("pets/dog/1.png", flat(101));
    files_.write("pets/cat/notes.txt", "no image");
    files_.write("pets/readme.png", "no image, and in no class");
    return files_ / "pets";
  }
  SourceFiles files_;
};

// "label:first pixel" of each element.
Words labelled(InputStream& stream) {
  Words out;
  Features element;
  while (true) {
    try {
      if (!stream.next(element)) return out;
      out.push_back(concat(element.at("label").item(), ":", element.at("image").at(0)));
    } catch (const Error& error) {
      out.push_back(std::string("error: ") + error.what());
    }
  }
}
Words labelled(const Dataset& dataset) { return labelled(*open(dataset)); }

TEST_F(Images, ATableNamesThem) {
  write_png("split/b/2.png", flat(2));
  write_png("split/1.png", flat(1));
  files_.write("split/metadata.csv", "label,file_name,weight\ncat,1.png,0.5\ndog,b/2.png,2\n");
  Dataset table = image_table(files_ / "split", {{.name = "label", .vocabulary = {"cat", "dog"}},
                                                 {.name = "weight", .type = CsvType::f32}});
  auto stream = table.open();
  Features row;
  for (auto [pixel, label, weight] : {std::tuple(1, 0, 0.5), std::tuple(2, 1, 2.0)}) {
    ASSERT_TRUE(stream->next(row));
    EXPECT_EQ(row.size(), 3u);
    EXPECT_TRUE(identical(row.at("image"), flat(static_cast<std::uint8_t>(pixel))));
    EXPECT_EQ(row.at("label").item(), label);
    EXPECT_EQ(row.at("weight").item(), weight);
  }
  EXPECT_FALSE(stream->next(row));

  auto paths = image_table(files_ / "split", {{.name = "file_name"}}).open();
  ASSERT_TRUE(paths->next(row));
  EXPECT_EQ(text_of(row.at("file_name")), "1.png");
  files_.write("gone/metadata.csv", "file_name\nx.png\n");
  EXPECT_THAT(error_of([&] { image_table(files_ / "gone", {}).open()->next(row); }),
              HasSubstr("gone/x.png"));
  files_.write("empty/metadata.csv", "file_name\n");
  EXPECT_THAT(error_of([&] { image_table(files_ / "empty", {}); }),
              HasSubstr("empty/metadata.csv has no rows"));
  EXPECT_THAT(error_of([&] { image_table(files_ / "split", {{.name = "image"}}); }),
              HasSubstr("image_table: `image` is the picture"));
}

TEST_F(Images, OfAFolderAreLabelledByClass) {
  Dataset data = image_folder(pets());
  EXPECT_EQ(labelled(data), (Words{"0:1", "0:2", "0:10", "1:101", "1:102"}));
  EXPECT_EQ(class_names(pets()), (Words{"cat", "dog"}));
  EXPECT_EQ(data.cardinality(), 5);
  EXPECT_TRUE(data.info().random_access);
  InputStreamPtr stream = open(data);
  Features element;
  stream->next(element);
  EXPECT_EQ(to_string(signature_of(element)), "image u8[2, 3, 3], label i64[]");
  EXPECT_TRUE(identical(element.at("image"), flat(1)));
}

TEST_F(Images, AreDecodedAsAsked) {
  Array color = Array::of<std::uint8_t>({255, 0, 0, 0, 0, 255}, {1, 2, 3});
  std::string path = write_png("d/a/1.png", color);
  InputStreamPtr grey = open(image_folder(files_ / "d", {.image = {.channels = 1}}));
  Features element;
  grey->next(element);
  EXPECT_TRUE(identical(element.at("image"), Array::of<std::uint8_t>({76, 29}, {1, 2, 1})));
  EXPECT_EQ(strings(image_folder(files_ / "d", {.decode = false}), "image"),
            Words{content_of(path)});
}

TEST_F(Images, ThatAreDamagedAreOneErrorEach) {
  std::string folder = pets();
  files_.write("pets/cat/2.png", "no PNG file");
  std::string cut = content_of(files_ / "pets/dog/1.png");
  files_.write("pets/dog/1.png", cut.substr(0, cut.size() / 2));
  std::filesystem::remove(files_ / "pets/dog/2.PNG");
  std::filesystem::create_symlink("nowhere", files_ / "pets/dog/2.PNG");
  for (int workers : {1, 3}) {
    Dataset data = image_folder(folder, {.workers = workers});
    EXPECT_THAT(labelled(data),
                ElementsAre("0:1",
                            AllOf(StartsWith("error: " + (files_ / "pets/cat/2.png")),
                                  HasSubstr("(at element 1, epoch 0, of ")),
                            "0:10", StartsWith("error: " + (files_ / "pets/dog/1.png")),
                            HasSubstr(files_ / "pets/dog/2.PNG")));
    expect_resumes(data, 60, 25, "label");
  }
  // Bytes are not looked at.
  EXPECT_EQ(strings(image_folder(folder, {.decode = false}), "image")[1], "no PNG file");
}

TEST_F(Images, AreDecodedOnlyWhenAskedFor) {
  Dataset data = image_folder(pets(), {.workers = 1});
  InputStreamPtr stream = open(data | skip(3));
  EXPECT_EQ(labelled(*stream), (Words{"1:101", "1:102"}));
  EXPECT_EQ(decoded(*stream), 2);

  Dataset shuffled = data | shuffle(5);
  InputStreamPtr whole = open(shuffled);
  Features element;
  for (int i = 0; i < 4; ++i) whole->next(element);
  InputStreamPtr resumed = open(shuffled);
  resumed->restore(whole->save());
  EXPECT_EQ(labelled(*resumed), labelled(*whole));
  EXPECT_EQ(decoded(*resumed), 1);

  InputStreamPtr part = data.open({.pipelines = 2, .pipeline = 1});
  EXPECT_EQ(labelled(*part), (Words{"0:2", "1:101"}));
  EXPECT_EQ(decoded(*part), 2);
  EXPECT_EQ(labelled(*data.open({.pipelines = 2, .pipeline = 0})), (Words{"0:1", "0:10", "1:102"}));
}

TEST_F(Images, DoNotDependOnWorkers) {
  Dataset one = image_folder(pets(), {.workers = 1}), many = image_folder(pets());
  EXPECT_EQ(labelled(one), labelled(many));
  for (const Dataset& data : {one, many}) {
    expect_resumes(data, 60, 25, "label");
    expect_resumes(data | shuffle(3) | repeat(2), 60, 25, "image");  // not a permutation
    expect_resumes(data | shuffle(5) | repeat(2), 60, 25, "image");
  }
}

TEST_F(Images, LoseNoClassThatCannotBeLookedAt) {
  std::string folder = pets();
  std::filesystem::create_symlink("bird", folder + "/bird");
  EXPECT_THAT(error_of([&] { image_folder(folder); }),
              HasSubstr("cannot look at `" + folder + "/bird`"));
}

TEST_F(Images, MustBeInClasses) {
  EXPECT_EQ(error_of([&] { image_folder(files_.path()); }),
            "image_folder: " + files_.path() + " has no folders, which would be classes");
  EXPECT_EQ(error_of([&] { image_folder(files_ / "gone"); }),
            (files_ / "gone") + ": cannot be read: No such file or directory");
  pets();
  files_.write("pets/empty/notes.txt", "");
  EXPECT_EQ(error_of([&] { image_folder(files_ / "pets"); }),
            "image_folder: the class " + (files_ / "pets/empty")
                + " has no images; folders in it are not searched");
}

TEST_F(Images, HaveMasksOfTheSameName) {
  for (std::uint8_t i : {10, 9}) {
    write_png(concat("image/", i, ".png"), flat(i));
    write_png(concat("mask/", i, ".png"), flat(i % 2 ? 255 : 0));
  }
  Dataset data = image_masks(files_ / "image", files_ / "mask");
  EXPECT_EQ(words(data, 1000, "mask"), (Words{"255,255,255,255,255,255", "0,0,0,0,0,0"}));
  EXPECT_EQ(data.cardinality(), 2);
  EXPECT_TRUE(data.info().random_access);
  InputStreamPtr stream = open(data);
  Features element;
  stream->next(element);
  EXPECT_EQ(to_string(signature_of(element)), "image u8[2, 3, 3], mask u8[2, 3, 1]");
  EXPECT_TRUE(identical(element.at("image"), flat(9)));
  expect_resumes(data | shuffle(2) | repeat(2), 60, 25, "image");
  Dataset as_asked = image_masks(files_ / "image", files_ / "mask",
                                 {.image = {.channels = 1}, .mask = {.channels = 3}, .workers = 1});
  stream = open(as_asked);
  stream->next(element);
  EXPECT_EQ(to_string(signature_of(element)), "image u8[2, 3, 1], mask u8[2, 3, 3]");
}

TEST_F(Images, MustFitTheirMasks) {
  for (int i : {1, 2, 3}) {
    write_png(concat("image/", i, ".png"), flat(7));
    write_png(concat("mask/", i, ".png"), flat(7));
  }
  write_png("mask/2.png", flat(7, 3, 2));
  files_.write("mask/3.png", "damaged");
  std::string image = files_ / "image/2.png", mask = files_ / "mask/2.png";
  EXPECT_THAT(words(image_masks(files_ / "image", files_ / "mask"), 1000, "mask"),
              ElementsAre("7,7,7,7,7,7",
                          "error: " + mask + ": the mask is [3, 2, 1], the image " + image
                              + " is [2, 3, 3] (at element 1, epoch 0, of " + image + ")",
                          StartsWith("error: " + (files_ / "mask/3.png"))));
  std::filesystem::remove(files_ / "mask/3.png");
  EXPECT_EQ(error_of([&] { image_masks(files_ / "image", files_ / "mask"); }),
            (files_ / "image/3.png") + " has no partner in " + (files_ / "mask"));
}

class Volumes : public Images {
 protected:
  void write_volume(const std::string& name, const Array& volume) const {
    files_.write(name, to_npy(volume));
  }
};

TEST_F(Volumes, AreReadWithMasks) {
  Array a = Array::of<float>({0.5f, 1, 2, 3}, {1, 2, 2}), b = Array::of<float>({4, 5}, {2, 1, 1});
  write_volume("image/10.npy", a);
  write_volume("image/9.npy", b);
  files_.write("mask/10.tif", tiff({{.h = 2, .w = 2, .pixels = "abcd"}}));
  write_volume("mask/9.npy", Array::of<std::uint8_t>({1, 0}, {2, 1, 1, 1}));
  Dataset data = volumes(files_ / "image", files_ / "mask");
  EXPECT_EQ(words(data, 1000, "mask"), (Words{"1,0", "97,98,99,100"}));
  InputStreamPtr stream = open(data);
  Features element;
  stream->next(element);
  EXPECT_EQ(to_string(signature_of(element)), "image f32[2, 1, 1, 1], mask u8[2, 1, 1, 1]");
  EXPECT_TRUE(identical(element.at("image"), b.reshape({2, 1, 1, 1})));
  expect_resumes(data, 60, 25, "mask");

  Dataset alone = volumes(files_ / "image");
  EXPECT_EQ(alone.cardinality(), 2);
  stream = open(alone);
  stream->next(element);
  stream->next(element);
  EXPECT_EQ(to_string(signature_of(element)), "image f32[1, 2, 2, 1]");
  EXPECT_TRUE(identical(element.at("image"), a.reshape({1, 2, 2, 1})));
}

TEST_F(Volumes, MustFitTheirMasks) {
  for (int i : {1, 2, 3}) {
    write_volume(concat("image/", i, ".npy"), Array::zeros({2, 1, 1, 3}));
    write_volume(concat("mask/", i, ".npy"), Array::zeros({2, 1, 1}));
  }
  write_volume("mask/2.npy", Array::zeros({1, 2, 1}));
  files_.write("image/3.npy", "damaged");
  EXPECT_THAT(
      words(volumes(files_ / "image", files_ / "mask"), 1000, "mask"),
      ElementsAre("0,0",
                  "error: " + (files_ / "mask/2.npy") + ": the mask is [1, 2, 1, 1], the volume "
                      + (files_ / "image/2.npy") + " is [2, 1, 1, 3] (at element 1, epoch 0, of "
                      + (files_ / "image/2.npy") + ")",
                  StartsWith("error: " + (files_ / "image/3.npy"))));
  files_.write("none/notes.txt", "");
  EXPECT_EQ(error_of([&] { volumes(files_ / "none"); }),
            "volumes: " + (files_ / "none") + " has no .npy, .tif or .tiff files");
}

}  // namespace
}  // namespace belfry::data

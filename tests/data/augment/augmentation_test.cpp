// Covers augmentation.cpp and json.cpp, and what holds for all augmentations.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "augment/images.h"
#include "belfry/data/augment/definition.h"

namespace belfry::data {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The input that an augmentation works on.
enum class Input { image, volume, batch, text };

struct Example {
  Augmentation augmentation;
  Input input = Input::image;
  bool takes_tiny = true;  // 1 x 1 pixels
};

// At least one of each, with options unlike the defaults.
const std::vector<Example>& examples() {
  static const Names masks{"mask"};
  static const std::vector<Example> all{
      {compose({flip_horizontal(), brightness()})},
      {compose({})},
      {one_of({flip_horizontal(), hue()}, {1, 0.25})},
      {sometimes(0.3, compose({flip_vertical({.probability = 1})}))},
      {flip_horizontal({.probability = 0.7, .masks = masks})},
      {flip_vertical({.probability = 0.3, .masks = masks})},
      {crop({.height = 3, .width = 4, .masks = masks}), Input::image, false},
      {center_crop({.height = 4, .width = 3, .masks = masks}), Input::image, false},
      {pad_and_crop({.padding = 2, .border = Border::symmetric, .masks = masks})},
      {pad_and_crop({.padding = 3, .fill = 0.5, .mask_fill = 7, .masks = masks})},
      {random_resized_crop(
          {.height = 5, .width = 4, .scale = {0.3, 0.9}, .ratio = {0.5, 2.5}, .masks = masks})},
      {resize({.height = 4,
               .width = 9,
               .interpolation = Interpolation::cubic,
               .antialias = false,
               .masks = masks})},
      {resize_short_side({.size = 4, .interpolation = Interpolation::area, .masks = masks})},
      {multi_scale({.sizes = {3, 9, 12}, .interpolation = Interpolation::nearest, .masks = masks})},
      {rotate({.degrees = {-77.5, 30}, .border = Border::edge, .masks = masks})},
      {affine({.degrees = {-5, 20},
               .translate_x = 0.2,
               .translate_y = 0.1,
               .scale = {0.5, 1.5},
               .shear_x = {-10, 30},
               .shear_y = {0, 5},
               .interpolation = Interpolation::cubic,
               .fill = 0.25,
               .masks = masks})},
      {perspective({.distortion = 0.3, .interpolation = Interpolation::nearest, .masks = masks})},
      {elastic({.alpha = 20.5, .sigma = 1.25, .masks = masks})},
      {brightness({.factor = {0.5, 1.75}})},
      {contrast({.factor = {0.5, 1.75}})},
      {saturation({.factor = {0.5, 1.75}})},
      {hue({.shift = {-0.25, 0.5}})},
      {color_jitter({.brightness = 0.1, .contrast = 0.2, .saturation = 0.3, .hue = 0.4})},
      {grayscale({.probability = 0.5})},
      {grayscale({.channels = 1})},
      {gaussian_blur({.sigma = {0.5, 1.5}})},
      {gaussian_noise({.deviation = {0.1, 0.2}, .clip = false})},
      {jpeg_artefacts({.quality = {10, 20}})},
      {cutout({.size = 3, .count = 2, .fill = 0.1})},
      {random_erasing({.probability = 0.9, .scale = {0.1, 0.5}, .ratio = {0.5, 2}, .noise = true})},
      {normalize({.mean = {0.5}, .deviation = {0.1}})},
      {to_float({.unit = 2.5})},
      {mixup({.alpha = 0.4, .probability = 0.9, .classes = 10}), Input::batch},
      {cutmix({.alpha = 0.7, .classes = 10}), Input::batch},
      {flip3d({.depth = 0.1, .height = 0.9, .width = 0.4, .masks = masks}), Input::volume},
      {rotate90({.axis = VolumeAxis::width, .masks = masks}), Input::volume},
      {rotate3d({.degrees = {5, 60}, .axis = VolumeAxis::height, .masks = masks}), Input::volume},
      {elastic3d({.alpha = 12.5, .sigma = 1.5, .masks = masks}), Input::volume},
      {string_lookup({.feature = "word", .vocabulary = {"a", "b"}, .buckets = 3}), Input::text}};
  return all;
}

Features input_for(Input input, std::int64_t side, std::int64_t channels, DType dtype) {
  if (input == Input::image)
    return {{"image", noise({side, side, channels}, dtype)},
            {"mask", noise({side, side}, DType::i64, 2)}};
  if (input == Input::text) {
    Features out = input_for(Input::image, side, channels, dtype);
    out.set("word", Array::of<std::uint8_t>({'a', 'b'}, {2}));
    return out;
  }
  if (input == Input::volume)
    return {{"image", noise({side, side, side, channels}, dtype)},
            {"mask", noise({side, side, side, 1}, DType::i32, 2)}};
  return {{"image", noise({6, side, side, channels}, dtype)},
          {"label", noise({6}, DType::i64, 2)},
          {"mask", noise({side, side}, DType::u8, 2)}};
}

Features run(const Augmentation& augmentation, Features in, std::uint64_t seed) {
  PhiloxStream random = stream(seed);
  return augmentation(std::move(in), random);
}

void expect_identical(const Features& a, const Features& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (const auto& [name, array] : a) EXPECT_TRUE(identical(array, b.at(name))) << what << name;
}

// Calls body for each example with each kind of input that it takes.
template <class Body>
void for_inputs(Body&& body) {
  for (const Example& e : examples())
    for (DType dtype : {DType::u8, DType::f32})
      for (std::int64_t channels : {1, 3})
        for (std::int64_t side : {1, 7}) {
          if (side == 1 && !e.takes_tiny) continue;
          SCOPED_TRACE(
              concat(e.augmentation, " on ", dtype, ", side ", side, ", channels ", channels));
          body(e.augmentation, [=] { return input_for(e.input, side, channels, dtype); });
        }
}

TEST(Augmentation, EveryOneIsAmongTheExamples) {
  std::set<std::string> shown;
  for (const Example& e : examples()) shown.insert(e.augmentation.name());
  Names names = augmentation_names();
  EXPECT_EQ(shown, std::set<std::string>(names.begin(), names.end()));
}

TEST(Augmentation, EveryDefinitionIsRegistered) {
  Names names = augmentation_names();
  std::set<std::string> known(names.begin(), names.end()), defined;
  std::regex name_field(R"re(\.name = "([a-z0-9_]+)")re");
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(BELFRY_SOURCE_DIR "/data/augment")) {
    if (file.path().extension() != ".cpp") continue;
    std::ifstream in(file.path());
    std::string text{std::istreambuf_iterator<char>(in), {}};
    for (std::sregex_iterator at(text.begin(), text.end(), name_field), end; at != end; ++at)
      defined.insert((*at)[1]);
  }
  EXPECT_EQ(defined, known);
}

TEST(Augmentation, PrintsAndReadsBackExactly) {
  for (const Example& e : examples()) {
    std::string json = to_string(e.augmentation);
    EXPECT_EQ(json.find('\n'), std::string::npos) << json;
    Augmentation again = augmentation_from_json(json);
    EXPECT_EQ(to_string(again), json);
    EXPECT_EQ(again.name(), e.augmentation.name());
    Features in = input_for(e.input, 7, 3, DType::f32);
    auto copy = [&] {
      Features out;
      for (const auto& [name, array] : in) out.set(name, array.clone());
      return out;
    };
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      expect_identical(run(e.augmentation, copy(), seed), run(again, copy(), seed), json);
  }
}

TEST(Augmentation, PrintsAllOptionsInOrder) {
  EXPECT_EQ(to_string(flip_horizontal({.probability = 0.5})),
            R"({"name":"flip_horizontal","probability":0.5,"image":"image","masks":[]})");
  EXPECT_EQ(
      to_string(sometimes(0.25, one_of({hue(), to_float({.image = "x\"y"})}, {1, 3}))),
      R"({"name":"sometimes","probability":0.25,"of":[{"name":"one_of","of":[{"name":"hue","shift":[-0.1,0.1],"image":"image"},{"name":"to_float","unit":0,"image":"x\"y"}],"weights":[1,3]}]})");
  EXPECT_EQ(
      to_string(
          rotate({.degrees = {-0.0, 1e-300}, .border = Border::reflect, .masks = {"a", "b"}})),
      R"({"name":"rotate","degrees":[-0.0,1e-300],"interpolation":"linear","border":"reflect","fill":0,"mask_fill":0,"image":"image","masks":["a","b"]})");
}

TEST(Augmentation, ReadsNumbersToTheBit) {
  PhiloxStream random = stream(3);
  for (int i = 0; i < 2000; ++i) {
    double fill =
        std::ldexp(random.uniform_double() - 0.5, static_cast<int>(random.below(600)) - 400);
    std::string json = to_string(cutout({.fill = fill}));
    EXPECT_EQ(to_string(augmentation_from_json(json)), json);
    EXPECT_THAT(json, HasSubstr(concat("\"fill\":", fill, ",")));
  }
}

TEST(Augmentation, OptionsLeftOutHaveTheirDefaults) {
  EXPECT_EQ(to_string(augmentation_from_json(R"({"name": "flip_vertical"})")),
            to_string(flip_vertical()));
  EXPECT_EQ(to_string(augmentation_from_json(R"( {"width": 3, "name": "crop", "height": 2} )")),
            to_string(crop({.height = 2, .width = 3})));
}

std::string reading(const std::string& json) {
  return error_of([&] { augmentation_from_json(json); });
}

TEST(Augmentation, RefusesWhatIsNotOne) {
  EXPECT_THAT(reading("{"), StartsWith("augmentation: not JSON: "));
  EXPECT_THAT(reading(""), StartsWith("augmentation: not JSON: "));
  EXPECT_THAT(reading("{\"name\":\"\xff\"}"), StartsWith("augmentation: not JSON: "));
  EXPECT_EQ(reading("[1]"),
            "augmentation: expected an object with a `name`, as in {\"name\": "
            "\"flip_horizontal\"}, got [1]");
  EXPECT_THAT(reading(R"({"name":3})"), StartsWith("augmentation: expected an object"));
  EXPECT_THAT(reading(R"({"name":"flip"})"),
              StartsWith("augmentation: unknown augmentation `flip`; known: affine, brightness, "
                         "center_crop, "));
  EXPECT_EQ(reading(R"({"name":"to_float","imag":"x"})"),
            "augmentation: to_float: there is no field `imag`; there are unit, image");
  EXPECT_EQ(reading(R"({"name":"to_float","image":"x","image":"y"})"),
            "augmentation: \"image\" is given twice");
  EXPECT_EQ(reading(R"({"name":"flip_vertical","probability":"0.5"})"),
            "augmentation: flip_vertical: `probability` must be a number, got \"0.5\"");
  EXPECT_EQ(reading(R"({"name":"flip_vertical","probability":1.5})"),
            "augmentation: flip_vertical: probability must be from 0 to 1, got 1.5");
  EXPECT_EQ(reading(R"({"name":"hue","shift":[0.1]})"),
            "augmentation: hue: `shift` must be [low, high], got [0.1]");
  EXPECT_EQ(reading(R"({"name":"hue","shift":[0.1,-0.1]})"),
            "augmentation: hue: shift must be [low, high] with low at most high, got [0.1, -0.1]");
  EXPECT_EQ(reading(R"({"name":"jpeg_artefacts","quality":[0.5,90]})"),
            "augmentation: jpeg_artefacts: `quality[0]` must be a whole number, got 0.5");
  EXPECT_EQ(reading(R"({"name":"cutout","size":9223372036854775808})"),
            "augmentation: cutout: `size` must be a whole number, got 9223372036854775808");
  EXPECT_EQ(reading(R"({"name":"rotate","border":"mirror"})"),
            "augmentation: rotate: `border` must be one of constant, edge, reflect, symmetric, got "
            "\"mirror\"");
  EXPECT_EQ(reading(R"({"name":"gaussian_noise","clip":1})"),
            "augmentation: gaussian_noise: `clip` must be true or false, got 1");
  EXPECT_EQ(reading(R"({"name":"compose","of":[{"name":"hue"},{"name":"to_float","image":[]}]})"),
            "augmentation: compose: to_float: `image` must be a string, got [] (in of[1])");
}

TEST(Augmentation, RefusesDeepNesting) {
  std::string open, close;
  for (int i = 0; i < 31; ++i) open += R"({"name":"compose","of":[)", close += "]}";
  EXPECT_EQ(reading(open + R"({"name":"hue"})" + close), "no error");
  open += open, close += close;
  EXPECT_EQ(reading(open + R"({"name":"hue"})" + close), "augmentation: nested more than 64 deep");
  EXPECT_EQ(reading(std::string(1'000'000, '[')), "augmentation: nested more than 64 deep");
}

TEST(Augmentation, RefusesOptionsThatCannotBePrinted) {
  EXPECT_EQ(error_of([] { flip_vertical({.probability = std::nan("")}); }),
            "flip_vertical: probability must be a finite number, got nan");
  EXPECT_EQ(error_of([] {
              rotate({.degrees = {0, INFINITY}});
            }),
            "rotate: degrees must be a finite number, got inf");
  EXPECT_EQ(error_of([] { to_float({.image = "\xff"}); }), "to_float: image is not UTF-8");
  EXPECT_EQ(error_of([] { rotate({.border = static_cast<Border>(9)}); }),
            "rotate: border has no value number 9");
}

TEST(Augmentation, TheSameKeyGivesTheSameBytes) {
  for_inputs([](const Augmentation& a, auto&& make) {
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      expect_identical(run(a, make(), seed), run(a, make(), seed), "");
  });
}

TEST(Augmentation, DifferentKeysGiveDifferentBytes) {
  const std::set<std::string> fixed{"center_crop", "resize",   "resize_short_side",
                                    "normalize",   "to_float", "string_lookup"};
  for (const Example& e : examples()) {
    if (fixed.contains(e.augmentation.name()) || to_string(e.augmentation) == to_string(compose({}))
        || to_string(e.augmentation) == to_string(grayscale({.channels = 1})))
      continue;
    auto out = [&](std::uint64_t seed) {
      Features f = run(e.augmentation, input_for(e.input, 7, 3, DType::f32), seed);
      return values_of<float>(f.at("image"));
    };
    std::set<Floats> results;
    for (std::uint64_t seed = 0; seed < 20; ++seed) results.insert(out(seed));
    EXPECT_GT(results.size(), 1u) << e.augmentation.name();
  }
}

TEST(Augmentation, TakesOneNumberFromTheStreamWhateverHappens) {
  PhiloxStream expected = stream(9);
  expected.next_u64();
  std::uint64_t next = expected.next_u64();
  for_inputs([&](const Augmentation& a, auto&& make) {
    PhiloxStream random = stream(9);
    a(make(), random);
    EXPECT_EQ(random.next_u64(), next);
  });
}

TEST(Augmentation, KeepsTypesAndOtherFeatures) {
  for_inputs([&](const Augmentation& a, auto&& make) {
    Features in = make();
    in.set("other", numbered({3}));
    DType dtype = in.at("image").dtype(), mask = in.at("mask").dtype();
    Features out = run(a, in, 1);
    bool to_f32 = a.name() == "normalize" || a.name() == "to_float";
    EXPECT_EQ(out.at("image").dtype(), to_f32 ? DType::f32 : dtype);
    EXPECT_EQ(out.at("mask").dtype(), mask);
    EXPECT_EQ(values_of<float>(out.at("other")), (Floats{1, 2, 3}));
    bool moves = to_string(a).find("mask") != std::string::npos;
    EXPECT_TRUE(moves || identical(out.at("mask"), make().at("mask")));
    EXPECT_EQ(out.begin()->first, "image");
  });
}

TEST(Augmentation, DoesNotOverwriteArraysThatOthersHold) {
  for_inputs([&](const Augmentation& a, auto&& make) {
    if (a.name() == "mixup" || a.name() == "cutmix") return;
    Features in = make(), before = make();
    for (std::uint64_t seed = 0; seed < 3; ++seed) run(a, in, seed);
    expect_identical(in, before, "");
  });
}

TEST(Augmentation, DoesNotDependOnThreads) {
  Features rows{{"image", noise({40, 9, 8, 3}, DType::u8)}, {"mask", noise({40, 9, 8}, DType::u8)}};
  Augmentation all = compose({flip_horizontal({.masks = {"mask"}}),
                              affine({.degrees = {-30, 30}, .masks = {"mask"}}),
                              elastic({.masks = {"mask"}}), color_jitter(), gaussian_noise(),
                              one_of({jpeg_artefacts(), gaussian_blur()}), random_erasing()});
  auto read = [&](int workers) {
    InputStreamPtr s = open(from_arrays(rows) | repeat(2)
                            | map(all, {.workers = workers, .seed = 5}) | batch(80) | threads(4));
    Features out;
    s->next(out);
    return out;
  };
  Features one = read(1);
  EXPECT_EQ(one.at("image").shape(), (Shape{80, 9, 8, 3}));
  for (int workers : {2, 8, autotune}) expect_identical(read(workers), one, "");
}

TEST(Augmentation, AnErrorInAPipelineNamesTheElement) {
  Features rows{{"image", noise({2, 4, 4, 1}, DType::u8)}};
  InputStreamPtr s = open(from_arrays(rows) | map(crop({.height = 5, .width = 3})));
  Features out;
  EXPECT_EQ(error_of([&] { s->next(out); }),
            "crop: 5 x 3 pixels do not fit into feature `image`, 4 x 4; resize it before, or use "
            "pad_and_crop (at element 0, epoch 0)");
}

}  // namespace
}  // namespace belfry::data

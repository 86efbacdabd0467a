// Options out of range are refused when a model is made. What heads, columns and GANs say is in
// their tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "../framework/base/error_of.h"
#include "belfry/models/models.h"

namespace belfry::models {
namespace {

using ::testing::HasSubstr;

struct Case {
  std::function<void()> make;
  const char* error;
};
void expect_errors(const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_THAT(error_of(c.make), HasSubstr(c.error));
}

TEST(BadOptions, OfClassifiers) {
  expect_errors({
      {[] { lenet({.classes = 1}); }, "lenet: classes is 1; it must be at least 2"},
      {[] { lenet({.hidden = 0}); }, "lenet: hidden is 0; it must be at least 1"},
      {[] { lenet({.dropout = 2}); }, "lenet: dropout is 2; it must lie in [0, 1)"},
      {[] {
         mlp({.hidden = {8, -4}});
       },
       "mlp: hidden is [8, -4]; each must be at least 1"},
      {[] { mlp({.classes = 0}); }, "mlp: classes is 0; it must be at least 2"},
      {[] { mlp({.dropout = NAN}); }, "mlp: dropout is nan; it must lie in [0, 1)"},
      {[] { mobilenet_v2({.classes = -1}); }, "mobilenet_v2: classes is -1"},
      {[] { mobilenet_v2({.width = 0}); }, "mobilenet_v2: width is 0; it must be above 0"},
      {[] { mobilenet_v2({.batch_norm_momentum = 2}); },
       "mobilenet_v2: batch_norm_momentum is 2; it must lie in [0, 1]"},
      {[] { mobilenet_v2({.dropout = 1}); }, "mobilenet_v2: dropout is 1"},
      {[] { resnest50({.classes = 1}); }, "resnest50: classes is 1"},
      {[] { resnest50({.blocks = std::vector<std::int64_t>(70, 1)}); },
       "resnest50: there are 70 stages; there may be 16"},
      {[] { resnest50({.radix = std::int64_t{1} << 32, .groups = std::int64_t{1} << 32}); },
       "a multiple of 4294967296 x 4294967296, radix times groups"},
      {[] { resnest50({.batch_norm_momentum = 2}); }, "resnest50: batch_norm_momentum is 2"},
      {[] { resnet18({.batch_norm_momentum = 2}); }, "resnet18: batch_norm_momentum is 2"},
      {[] { resnet34({.classes = 0}); }, "resnet34: classes is 0"},
      {[] { resnet50({.batch_norm_momentum = -1}); }, "resnet50: batch_norm_momentum is -1"},
      {[] { swin_tiny({.classes = 1}); }, "swin_tiny: classes is 1"},
      {[] {
         swin_tiny({.blocks = std::vector<std::int64_t>(70, 1),
                    .heads = std::vector<std::int64_t>(70, 1)});
       },
       "swin_tiny: there are 70 stages; there may be 16"},
      {[] {
         swin_tiny({.heads = {3, 6, 0, 24}});
       },
       "swin_tiny: heads is [3, 6, 0, 24]; each must be"},
      {[] { vgg({.classes = 0}); }, "vgg: classes is 0"},
      {[] { vgg({.batch_norm_momentum = 2}); }, "vgg: batch_norm_momentum is 2"},
      {[] { vgg({.hidden = 0}); }, "vgg: hidden is 0; it must be at least 1"},
      {[] { vgg({.dropout = -1}); }, "vgg: dropout is -1"},
  });
}

TEST(BadOptions, OfSegmentation) {
  expect_errors({
      {[] { unet({.dice_weight = -1}); }, "unet: dice_weight is -1; it must be at least 0"},
      {[] { unet({.positive_weight = {-1}}); },
       "unet: positive_weight is -1; it must be at least 0"},
      {[] { unet({.threshold = 7}); }, "unet: threshold is 7; it must lie in [0, 1]"},
      {[] { unet({.batch_norm_momentum = 2}); }, "unet: batch_norm_momentum is 2"},
      {[] { unet({.slot_of_way_up = -1}); }, "unet: slot_of_way_up is -1; it must be at least 0"},
      {[] { unet3d({.filters = 0}); }, "unet3d: a depth of 4 with 0 filters"},
      {[] { unet_resnest({.radix = 1}); }, "unet_resnest: a radix of 1"},
      {[] { unet_resnest({.decoder_filters = 0}); }, "unet_resnest: decoder_filters is 0"},
      {[] { unet_resnest({.dice_weight = -1}); }, "unet_resnest: dice_weight is -1"},
      {[] { unet_swin({.window = 0}); }, "unet_swin: 96 channels, windows of 0"},
      {[] { unet_swin({.threshold = -1}); }, "unet_swin: threshold is -1"},
  });
}

TEST(BadOptions, OfSequencesAndTables) {
  Columns size{.numeric = {{.feature = "size"}}};
  expect_errors({
      {[] { acoustic({.dropout = 1}); }, "acoustic: dropout is 1"},
      {[] {
         acoustic({.filters = std::vector<std::int64_t>(12, 8),
                   .strides = std::vector<std::int64_t>(12, 64)});
       },
       "their product must be at most 2^31"},
      {[] { acoustic({.batch_norm_momentum = 2}); }, "acoustic: batch_norm_momentum is 2"},
      {[] { acoustic({.separator = -2}); }, "acoustic: separator is -2; it must be at least -1"},
      {[] { gpt({.vocabulary = 0}); }, "gpt: vocabulary is 0"},
      {[] { gpt({.heads = 5}); }, "gpt: 5 heads do not divide a width of 768"},
      {[] { gpt({.kv_heads = 4}); }, "gpt: kv_heads is 4; it must divide the 12 heads, and blocks"},
      {[] { gpt({.kv_heads = 5, .block = GptBlock::llama}); }, "gpt: kv_heads is 5"},
      {[] { gpt({.width = 36, .block = GptBlock::llama}); }, "gpt: heads of 3 cannot be turned"},
      {[] { gpt({.dropout = 1}); }, "gpt: dropout is 1"},
      {[] { gpt({.epsilon = -1}); },
       "gpt: epsilon is -1 and rotary_base 10000; expected at least 0"},
      {[] { gpt({.rotary_base = 0}); }, "gpt: epsilon is 0 and rotary_base 0; expected at least 0"},
      {[] { gpt_step_inputs({}, 0, 1); }, "gpt_step_inputs: tokens is 0"},
      {[] { gpt_step_inputs({}, 1, 0); }, "gpt_step_inputs: places is 0"},
      {[] { rnn({.units = 0}); }, "rnn: units is 0"},
      {[] { rnn({.layers = 0}); }, "rnn: layers is 0"},
      {[] { rnn({.dropout = 1}); }, "rnn: dropout is 1"},
      {[] { rnn({.head = {}}); }, "rnn: there is no head"},
      {[] { transformer({.vocabulary = -1}); }, "transformer: vocabulary is -1"},
      {[] { transformer({.longest = 0}); }, "transformer: longest is 0"},
      {[] { transformer({.dropout = 2}); }, "transformer: dropout is 2"},
      {[] { linear({}); },
       "columns: there are none; give at least one numeric, categorical or "
       "crossed column (in linear: columns)"},
      {[=] { linear({.columns = size, .head = {}}); },
       "linear: there is no head; make it with binary_head() or its like"},
      {[] { dnn({}); }, "(in dnn: columns)"},
      {[=] { dnn({.columns = size, .hidden = {0}}); }, "dnn: hidden is [0]; each must be"},
      {[=] { dnn({.columns = size, .dropout = 2}); }, "dnn: dropout is 2"},
      {[=] { dnn({.columns = size, .head = {}}); }, "dnn: there is no head"},
      {[] { wide_deep({}); }, "(in wide_deep: wide)"},
      {[=] { wide_deep({.wide = size}); }, "(in wide_deep: deep)"},
      {[=] { wide_deep({.wide = size, .deep = size, .hidden = {-1}}); },
       "wide_deep: hidden is [-1]"},
      {[=] { wide_deep({.wide = size, .deep = size, .dropout = 1}); }, "wide_deep: dropout is 1"},
      {[=] { wide_deep({.wide = size, .deep = size, .head = {}}); }, "wide_deep: there is no head"},
  });
}

}  // namespace
}  // namespace belfry::models

#include "belfry/framework/ops/ops.h"
#include "on_gpu.h"

namespace belfry {
namespace {

struct Loss {
  DType dtype = DType::f32, labels = DType::i32;
  std::int64_t rows = 9, classes = 10;
  double smoothing = 0;
};

double loss_difference(const Loss& o) {
  Graph graph;
  DType wide = o.dtype == DType::f64 ? DType::f64 : DType::f32;
  Tensor logits = input(graph, "logits", {Shape{o.rows, o.classes}, o.dtype});
  Tensor labels = input(graph, "labels", {Shape{o.rows}, o.labels});
  Tensor dy = input(graph, "dy", {Shape{o.rows}, wide});
  Tensor loss = sparse_softmax_cross_entropy_op(logits, labels, o.smoothing);
  Tensor gradient = gradients(loss, std::vector<Tensor>{logits}, dy)[0];
  return difference_on_gpu(
      {loss, gradient}, {{"logits", numbers(logits.shape(), o.dtype, -5, 5)},
                         {"labels", numbers({o.rows}, o.labels, 0, static_cast<double>(o.classes))},
                         {"dy", numbers({o.rows}, wide, .5, 2)}});
}

TEST(CudaCrossEntropy, EveryTypeAndSize) {
  for (DType dtype : floating_types)
    for (DType labels : {DType::i32, DType::i64})
      for (std::int64_t classes : {1, 10, 1001, 2048})
        for (double smoothing : {0., .1})
          EXPECT_LE(
              loss_difference(
                  {.dtype = dtype, .labels = labels, .classes = classes, .smoothing = smoothing}),
              allowed(dtype, 8))
              << to_string(dtype) << " " << classes << " classes, smoothing " << smoothing;
  EXPECT_EQ(loss_difference({.rows = 0}), 0);
}

TEST(CudaCrossEntropy, ManyRowsOfFewClasses) {
  for (DType dtype : floating_types)
    for (std::int64_t classes : {2, 9, 16, 17})
      EXPECT_LE(
          loss_difference({.dtype = dtype, .rows = 4099, .classes = classes, .smoothing = .1}),
          allowed(dtype, 8))
          << to_string(dtype) << " " << classes << " classes";
}

TEST(CudaCrossEntropy, LabelsOutsideAreAnError) {
  for (std::int32_t label : {-1, 10}) {
    Graph graph;
    Tensor logits = input(graph, "logits", {Shape{20, 10}, DType::f32});
    Tensor labels = input(graph, "labels", {Shape{20}, DType::i32});
    std::map<std::string, Array> inputs{{"logits", numbers({20, 10}, DType::f32)},
                                        {"labels", Array::zeros({20}, DType::i32)}};
    inputs.at("labels").span<std::int32_t>()[13] = label;
    try {
      evaluate({sparse_softmax_cross_entropy_op(logits, labels)}, inputs, {.device = "cuda"});
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what())
                    .find("sparse_softmax_cross_entropy: the label at row 13 is outside 0..9"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace belfry

#include "belfry/framework/ops/sequence/sequences.h"

#include "on_gpu.h"

namespace belfry {
namespace {

// Some rows more than a block has threads; the ops' tests have the other sizes.
std::map<std::string, Array> inputs(std::int64_t rows) {
  return {{"truth", numbers({rows, 9}, DType::i64, 0, 4)},
          {"truth_lengths", numbers({rows}, DType::i64, 0, 10)},
          {"guess", numbers({rows, 7}, DType::i64, 0, 4)},
          {"guess_lengths", numbers({rows}, DType::i64, 0, 8)}};
}

std::vector<Tensor> outputs(Graph& graph, const std::map<std::string, Array>& given) {
  auto in = [&](const char* name) { return input(graph, name, given.at(name).type()); };
  Sequences truth{in("truth"), in("truth_lengths")}, guess{in("guess"), in("guess_lengths")};
  auto labels = edit_distance(truth, guess);
  auto words = edit_distance(truth, guess, {.words = true, .separator = 0});
  auto read = ctc_collapse(guess.labels, guess.lengths);
  return {labels.distance, labels.length, words.distance, words.length, read.labels, read.lengths};
}

TEST(CudaSequences, AgreeWithTheReference) {
  for (std::int64_t rows : {0, 1, 700}) {
    Graph graph;
    auto given = inputs(rows);
    EXPECT_EQ(difference_on_gpu(outputs(graph, given), given), 0) << rows << " rows";
  }
}

void expect_error(std::int64_t length, std::size_t output, const std::string& message) {
  Graph graph;
  auto given = inputs(300);
  given.at("guess_lengths").span<std::int64_t>()[299] = length;
  try {
    evaluate({outputs(graph, given)[output]}, given, {.device = "cuda"});
    ADD_FAILURE() << "no error for " << length;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
  }
}

TEST(CudaSequences, BadLengthsAreAnError) {
  for (std::int64_t length : {-1, 8}) {
    expect_error(length, 0,
                 "edit_distance: a length at row 299 is outside: those of truth are 0..9, those of "
                 "hypothesis 0..7");
    expect_error(length, 4, "ctc_collapse: the length at row 299 is outside 0..7");
  }
}

}  // namespace
}  // namespace belfry

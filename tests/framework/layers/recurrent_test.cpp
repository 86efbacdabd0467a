#include "belfry/framework/layers/recurrent.h"

#include "belfry/framework/layers/layers.h"
#include "belfry/framework/ops/autocast.h"
#include "belfry/framework/ops/ops.h"
#include "layers_support.h"

namespace belfry::testing {
namespace {

using RC = RecurrentCell;

constexpr std::int64_t n = 3, t = 4, c = 3, units = 2;

/// Adds the variables of one layer in one direction, and returns where the next wave starts.
double add_weights(std::map<std::string, Array>& weights, const std::string& path, RC cell,
                   std::int64_t in, double start) {
  std::int64_t width = recurrent_gates(cell) * units;
  weights[path + "/kernel"] = wave({in, width}, start++, 0.5);
  weights[path + "/bias"] = wave({width}, start++, 0.5);
  weights[path + "/recurrent_kernel"] = wave({units, width}, start++, 0.5);
  if (cell == RC::gru) weights[path + "/recurrent_bias"] = wave({width}, start++, 0.5);
  return start;
}

Tensor digest(Tensor x, double start) {
  return sum(x * constant(x.graph(), wave(x.shape(), start)));
}

struct Case {
  RC cell;
  bool bidirectional;
  int layers;
  bool lengths;
  /// Digests of results, and of their gradients: x, kernel, recurrent kernel, bias, first states.
  std::vector<double> expected;
};

// PyTorch 2's LSTM, GRU and RNN in f64, with these weights (its matrices are these transposed,
// gru's gates in its order), lengths by packed sequences.
const std::vector<Case> cases = {
    // clang-format off
    {RC::lstm, false, 1, false, {-1.245013718621, -0.829042445095, 1.289561557815, -0.125352877993, -0.151822000906, -0.279060178156}},
    {RC::lstm, false, 1, true, {-0.351738376215, 0.089816730749, 1.314588667853, -0.016389244850, -0.424054108803, -0.346381259244}},
    {RC::lstm, false, 2, false, {-0.057168538248, -0.665810069900, 1.048795223897, -0.018268467523, -0.209560480196, 0.083374142954}},
    {RC::lstm, false, 2, true, {1.102355884771, 0.380545989883, 1.111499849941, 0.065607740306, -0.218974077377, 0.116010589760}},
    {RC::lstm, true, 1, false, {0.141493431230, -1.373509124908, 1.540185028908, -0.014756046368, -0.408168796879, 0.095764213474}},
    {RC::lstm, true, 1, true, {1.022444478079, -0.029248282909, 1.893468364235, 0.050533854079, -0.360576816341, 0.109485628732}},
    {RC::lstm, true, 2, false, {1.761452780358, -1.248507301094, 1.291048474068, -0.066258074727, -0.181204160573, -0.081395540679}},
    {RC::lstm, true, 2, true, {2.618043940484, 0.027641196208, 1.211542503930, 0.018256529148, -0.245641577806, -0.221303480651}},
    {RC::gru, false, 1, false, {-0.639697432488, 0.227028186484, 0.791731934559, 0.002597114021, -0.416884585486, 0.656380127317}},
    {RC::gru, false, 1, true, {-0.939393390228, 0.344001655091, 0.622879789066, 0.007044250006, -1.240343915036, 0.831669609678}},
    {RC::gru, false, 2, false, {-0.652800645200, 0.119823041685, 0.389569388569, 0.039191035868, -0.083759933126, 0.231140159541}},
    {RC::gru, false, 2, true, {-1.143180615651, 0.175531483311, -0.030999877325, 0.025243120994, -0.220405691534, 0.931253217190}},
    {RC::gru, true, 1, false, {-1.129038581273, 0.323709066978, 0.505349972489, -0.029453479934, -0.992939955045, 1.992640860922}},
    {RC::gru, true, 1, true, {-0.782024454552, 0.413675311030, -0.113631849979, -0.061523064891, -0.991559921385, 1.078697703094}},
    {RC::gru, true, 2, false, {-0.603650859945, 0.125092983209, 0.669389016780, 0.035143543708, -0.611987385083, 1.521547712455}},
    {RC::gru, true, 2, true, {-1.133181808913, 0.180339949982, 0.166478213534, 0.019161338505, -0.644464308692, 2.848383966500}},
    {RC::tanh, false, 1, false, {3.118743836578, 1.870017368651, 3.722731309181, -2.450578325176, 0.336689416490, -0.620785938878}},
    {RC::tanh, false, 1, true, {1.089798672343, -0.284375748455, -0.573751201037, -0.148911623395, 1.257712514451, -0.625941421535}},
    {RC::tanh, false, 2, false, {-0.794069081697, 1.814983089190, 3.615594495677, -2.746534462462, -0.279637114504, 0.005591174538}},
    {RC::tanh, false, 2, true, {-4.809634545342, -0.208140394851, -0.423087731615, -2.321689198389, 0.102295643124, -0.108051115027}},
    {RC::tanh, true, 1, false, {1.371282961849, 2.686360812820, 1.240912102007, -2.349095711026, -0.210859382334, 0.305366706161}},
    {RC::tanh, true, 1, true, {-1.550014295932, 0.049337122240, -2.114498418863, -3.978039019338, 0.285452829690, -0.969912680554}},
    {RC::tanh, true, 2, false, {-2.952702997541, 3.589271860869, 4.063046210045, -2.811840007638, -0.797190994673, 0.579983658679}},
    {RC::tanh, true, 2, true, {-3.458033979625, 1.832567896776, 0.569972766643, -2.285395315432, -0.082832152132, 0.266062656408}},
    // clang-format on
};

struct Built {
  RecurrentResult result;
  std::map<std::string, Array> weights;
  std::vector<RecurrentState> initial;
  Tensor x;
};

Built build(Graph& graph, const Case& k) {
  Built b;
  int directions = k.bidirectional ? 2 : 1;
  double start = 1;
  for (int layer = 0; layer < k.layers; ++layer)
    for (int d = 0; d < directions; ++d) {
      std::string path = "r";
      if (k.layers > 1) path += concat("/layer", layer);
      if (k.bidirectional) path += d ? "/backward" : "/forward";
      start = add_weights(b.weights, path, k.cell, layer == 0 ? c : directions * units, start);
    }
  std::int64_t states = k.layers * directions;
  Tensor h = constant(graph, wave({states, n, units}, 5, 0.5)),
         cell = constant(graph, wave({states, n, units}, 6, 0.5));
  auto part = [&](Tensor all, std::int64_t i) {
    return reshape(slice(all, {.begin = {i, 0, 0}, .size = {1, n, units}}), {n, units});
  };
  for (std::int64_t i = 0; i < states; ++i)
    b.initial.push_back({part(h, i), k.cell == RC::lstm ? part(cell, i) : Tensor()});
  b.x = constant(graph, wave({n, t, c}, 0));
  RecurrentLayerOptions options{
      .units = units, .layers = k.layers, .bidirectional = k.bidirectional, .initial = b.initial};
  if (k.lengths) options.lengths = tensor<std::int64_t>(graph, {n}, {4, 2, 3});
  Scope s = Scope(graph) / "r";
  b.result = recurrent_layers(s, b.x, k.cell, options);
  return b;
}

Tensor variable(const Graph& graph, const std::string& name) {
  return Tensor(*graph.find_variable(name), 0);
}

TEST(Recurrent, IsPyTorchsInAllForms) {
  for (const Case& k : cases) {
    SCOPED_TRACE(concat(to_string(k.cell), k.bidirectional ? ", two directions, " : ", ", k.layers,
                        " layers", k.lengths ? ", lengths" : ""));
    Graph graph;
    Built b = build(graph, k);
    std::vector<Tensor> h, cells, first;
    for (const RecurrentState& s : b.result.states) {
      h.push_back(s.h);
      if (s.c.defined()) cells.push_back(s.c);
    }
    for (const RecurrentState& s : b.initial) first.push_back(s.h);
    Tensor loss = digest(b.result.y, 0.3) + digest(stack(h, 0), 0.9);
    if (!cells.empty()) loss = loss + digest(stack(cells, 0), 1.1);
    std::string path = "r";
    if (k.layers > 1) path += "/layer0";
    if (k.bidirectional) path += "/forward";
    std::vector<Tensor> xs = {b.x, variable(graph, path + "/kernel"),
                              variable(graph, path + "/recurrent_kernel"),
                              variable(graph, path + "/bias")};
    xs.insert(xs.end(), first.begin(), first.end());
    std::vector<Tensor> slopes = gradients(loss, xs);
    std::vector<Tensor> wanted = {loss};
    for (int i = 0; i < 4; ++i) wanted.push_back(digest(slopes[i], 0.5));
    wanted.push_back(digest(stack(std::vector<Tensor>(slopes.begin() + 4, slopes.end()), 0), 0.5));
    std::vector<double> found;
    for (const Tensor& w : wanted) found.push_back(values(w, b.weights)[0]);
    EXPECT_THAT(found, ::testing::Pointwise(::testing::DoubleNear(1e-11), k.expected));
  }
}

TEST(Recurrent, VariablesAreThoseOfKeras) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({2, 3, 5}));
  lstm(Scope(graph) / "a", x, {.units = 4});
  gru(Scope(graph) / "b", x, {.units = 4, .layers = 2, .bidirectional = true});
  simple_rnn(Scope(graph) / "c", x, {.units = 4, .use_bias = false});
  auto type = [&](const char* name) { return to_string(graph.find_variable(name)->output()); };
  EXPECT_EQ(type("a/kernel"), "f32[5, 16]");
  EXPECT_EQ(type("a/recurrent_kernel"), "f32[4, 16]");
  EXPECT_EQ(type("a/bias"), "f32[16]");
  EXPECT_EQ(type("b/layer0/forward/kernel"), "f32[5, 12]");
  EXPECT_EQ(type("b/layer0/backward/recurrent_bias"), "f32[12]");
  EXPECT_EQ(type("b/layer1/forward/kernel"), "f32[8, 12]");
  EXPECT_EQ(type("b/layer1/backward/recurrent_kernel"), "f32[4, 12]");
  EXPECT_EQ(type("c/kernel"), "f32[5, 4]");
  EXPECT_EQ(graph.variables().size(), 3u + 16u + 2u);
}

TEST(Recurrent, ForgetsLittleAtFirst) {
  Graph graph;
  lstm(Scope(graph) / "a", constant(graph, Array::zeros({1, 1, 1})), {.units = 2});
  EXPECT_THAT(values(variable(graph, "a/bias")), ElementsAre(0, 0, 1, 1, 0, 0, 0, 0));
}

TEST(Recurrent, LastIsTheTopLayersState) {
  Graph graph;
  Case k{RC::gru, true, 2, true, {}};
  Built b = build(graph, k);
  EXPECT_EQ(to_string(b.result.y.type()), "f64[3, 4, 4]");
  std::vector<double> last = values(b.result.last, b.weights),
                      forward = values(b.result.states[2].h, b.weights),
                      backward = values(b.result.states[3].h, b.weights);
  for (int row = 0; row < n; ++row)
    for (int u = 0; u < units; ++u) {
      EXPECT_EQ(last[row * 4 + u], forward[row * 2 + u]);
      EXPECT_EQ(last[row * 4 + 2 + u], backward[row * 2 + u]);
    }
}

TEST(Recurrent, DropoutIsBetweenLayers) {
  Graph graph;
  Tensor x = constant(graph, wave({2, 3, 2}, 0));
  auto count = [&](const char* name, int layers, bool training) {
    std::size_t before = graph.size();
    lstm(Scope(graph) / name, x,
         {.units = 2, .layers = layers, .dropout = 0.5f, .training = training});
    int drops = 0;
    for (std::size_t i = before; i < graph.size(); ++i)
      drops += graph.node(i).op().name == "dropout";
    return drops;
  };
  EXPECT_EQ(count("a", 1, true), 0);
  EXPECT_EQ(count("b", 3, true), 2);
  EXPECT_EQ(count("c", 3, false), 0);
}

TEST(Recurrent, ErrorsNameLayerAndPlace) {
  Graph graph;
  Tensor x = constant(graph, Array::zeros({2, 3, 5}));
  auto error = [&](RecurrentLayerOptions o, Tensor in) {
    return error_of([&] { lstm(Scope(graph) / "a", in, o); });
  };
  EXPECT_EQ(error({.units = 0}, x), "lstm: units must be 1 to 1073741824, got 0 (at a)");
  EXPECT_EQ(error({.units = 1, .dropout = 7}, x), "lstm: dropout must be in [0, 1), got 7 (at a)");
  EXPECT_EQ(error({.units = 1, .layers = 0}, x), "lstm: layers must be at least 1, got 0 (at a)");
  EXPECT_EQ(error({.units = 1}, reshape(x, {6, 5})),
            "lstm: x must be floating [n, t, c], got f32[6, 5] (at a)");
  EXPECT_EQ(error({.units = 1, .bidirectional = true, .initial = {{x, x}}}, x),
            "lstm: initial has 1 states; 2 are needed, one for each layer and direction (at a)");
}

}  // namespace
}  // namespace belfry::testing

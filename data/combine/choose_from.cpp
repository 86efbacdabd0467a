#include <limits>

#include "belfry/data/combine/combine.h"
#include "belfry/data/combine/mixture.h"
#include "belfry/data/sources/sources.h"
#include "belfry/framework/base/error.h"

namespace belfry::data {
namespace {

class ChooseFrom final : public Mixture {
 public:
  ChooseFrom(const std::vector<Dataset>& datasets, IteratorPtr choices, bool stop_on_empty,
             const Pass& pass)
      : Mixture(datasets, stop_on_empty, pass), choices_(std::move(choices)) {}

  void position(Position& at) override {
    Mixture::position(at);
    choices_->position(at);
  }

 private:
  std::int64_t choose(std::int64_t) override {
    if (!choices_->next(choice_)) return none;
    return for_element("choose_from", choice_, [&] {
      std::int64_t number = number_of(choice_.features);
      require(number >= 0 && number < inputs(), "choose_from: the choice is ", number,
              ", expected 0 to ", inputs() - 1);
      return number;
    });
  }

  static std::int64_t number_of(const Features& choice) {
    bool fits = choice.size() == 1 && choice.begin()->second.shape().rank() == 0;
    DType dtype = fits ? choice.begin()->second.dtype() : DType::f32;
    require(dtype == DType::i64 || dtype == DType::i32,
            "choose_from: a choice is one scalar, i64 or i32; got (",
            to_string(signature_of(choice)), ")");
    const Array& number = choice.begin()->second;
    return dtype == DType::i64 ? number.span<std::int64_t>()[0] : number.span<std::int32_t>()[0];
  }

  IteratorPtr choices_;
  Element choice_;
};

}  // namespace

Dataset choose_from(std::vector<Dataset> datasets, Dataset choices, ChooseOptions options) {
  require(!datasets.empty(), "choose_from: needs at least one dataset");
  // A part of the choices would not fit the parts of the datasets.
  Dataset all_choices("choices", {choices}, [=](const Pass& pass) { return choices.iterate(pass); },
                      {.cardinality = choices.cardinality(), .sharded = false});
  std::vector<Dataset> inputs = datasets;
  inputs.push_back(all_choices);
  auto make = [=](const Pass& pass) {
    return std::make_unique<ChooseFrom>(datasets, all_choices.iterate(pass.input(datasets.size())),
                                        options.stop_on_empty, pass);
  };
  return Dataset("choose_from", std::move(inputs), make);
}

Dataset choose_from(std::vector<Dataset> datasets, Choose choose, ChooseOptions options) {
  require(choose != nullptr, "choose_from: the function is empty");
  const Signature signature{{"choice", {Shape{}, DType::i64}}};
  Dataset choices = indexed(
      std::numeric_limits<std::int64_t>::max(),
      [=](std::int64_t step, Features& out) {
        prepare(out, signature);
        out.begin()->second.span<std::int64_t>()[0] = choose(step);
      },
      "choices");
  return choose_from(std::move(datasets), std::move(choices), options);
}

}  // namespace belfry::data

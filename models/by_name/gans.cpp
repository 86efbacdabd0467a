#include "belfry/models/by_name/maker.h"
#include "belfry/models/gan/acgan.h"
#include "belfry/models/gan/cyclegan.h"
#include "belfry/models/gan/estimators.h"
#include "belfry/models/gan/infogan.h"

namespace belfry::models::by_name {
namespace {

/// A round as JSON describes it, and whether the networks learn `jointly`.
struct Round {
  gan::RoundOptions options = {};
  bool jointly = false;
  static void fields(auto& o, auto&& field) {
    gan::RoundOptions::fields(o.options, field);
    field("jointly", o.jointly);
  }
};

}  // namespace
}  // namespace belfry::models::by_name

namespace belfry {

// Beside JsonValue, so that read_value() finds it.
static void read_field(const JsonValue& json, std::vector<SubStep>& steps) {
  models::by_name::Round round;
  json.fields(round);
  steps = round.jointly ? gan::joint(round.options) : gan::sequential(round.options);
}

}  // namespace belfry

namespace belfry::models::by_name {
namespace {

/// A GAN of DCGAN's networks.
struct DcganModel {
  gan::DcganOptions networks = {};
  gan::GanOptions gan = {};
  static void fields(auto& o, auto&& field) {
    gan::DcganOptions::fields(o.networks, field);
    gan::GanOptions::fields(o.gan, field);
  }
};

template <class Networks>
Make gan_maker(gan::GanOptions (*function)(Networks), gan::DcganOptions networks = {}) {
  return [=](const JsonValue& json) {
    // `function` takes the networks and gives the defaults of how they are trained.
    DcganModel model{networks, gan::GanOptions()};
    json.fields(model);
    model.gan = function(model.networks);
    json.fields(model);
    return gan::gan(std::move(model.gan));
  };
}

}  // namespace

Makers gans() {
  return {{"acgan", maker<gan::AcganOptions>(gan::acgan)},
          {"cgan", gan_maker(gan::conditional_gan, {.classes = 10})},
          {"cyclegan", maker<gan::CycleganOptions>(gan::cyclegan)},
          {"dcgan", gan_maker(gan::dcgan)},
          {"infogan", maker<gan::InfoganOptions>(gan::infogan)},
          {"wgan_gp", gan_maker(gan::wgan_gp)}};
}

}  // namespace belfry::models::by_name

#include "belfry/framework/train/live_predictor.h"

#include "belfry/framework/train/run/predict_batch.h"
#include "belfry/framework/train/step/session.h"

namespace belfry {

LivePredictor::LivePredictor(std::shared_ptr<Session> session, PredictOptions options)
    : session_(std::move(session)), options_(std::move(options)) {
  require(options_.checkpoint.empty(), "predictor: it predicts with the live variables, and not `",
          options_.checkpoint, "`; leave PredictOptions::checkpoint empty, or use predict()");
}

Features LivePredictor::operator()(const Features& batch) const {
  auto turn = session_->turns().take();
  require(!session_->broken(),
          "predictor: a training has failed within a step, and the variables may be those of no "
          "step; ask the estimator for another predictor(), which goes on from the newest "
          "checkpoint");
  return predict_batch(*session_, batch, options_);
}

}  // namespace belfry

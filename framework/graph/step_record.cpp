#include "belfry/framework/graph/step_record.h"

#include <chrono>

namespace belfry {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

StepTimes& StepTimes::operator+=(const StepTimes& other) {
  copy += other.copy;
  compute += other.compute;
  transfer += other.transfer;
  exposed_reduction += other.exposed_reduction;
  hidden_reduction += other.hidden_reduction;
  apply += other.apply;
  return *this;
}

StepTimes StepTimes::operator/(double n) const {
  return {copy / n, compute / n, transfer / n, exposed_reduction / n, hidden_reduction / n,
          apply / n};
}

}  // namespace belfry

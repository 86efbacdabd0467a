#include "belfry/framework/runtime/variable_store.h"

#include <cstring>

#include "belfry/framework/tensor/philox.h"

namespace belfry {

VariableStore::VariableStore(std::shared_ptr<Device> device, int tower, VariableStore* shared)
    : device_(std::move(device)), tower_(tower), shared_(shared), stream_(device_->make_stream()) {}

std::shared_ptr<Arena> VariableStore::arena() const {
  auto arena = arena_.lock();
  if (!arena) arena_ = arena = std::make_shared<Arena>(*device_);
  return arena;
}

DeviceMemory& VariableStore::get_or_create(const VariableOptions& options, std::uint64_t seed) {
  if (shared_ && !differs_over_towers(options.over_towers))
    return shared_->get_or_create(options, seed);
  auto found = entries_.find(options.name);
  if (found == entries_.end()) {
    Entry entry{options,
                device_->allocate(Bytes(options.type.bytes()), "variable " + options.name)};
    bool direct = device_->host_accessible();
    Array value = direct ? Array(options.type, entry.memory.data(), nullptr) : Array(options.type);
    if (options.over_towers == OverTowers::sum && tower_ > 0)
      std::memset(value.raw(), 0, value.bytes());
    else
      with_context("at " + options.name,
                   [&] { options.initializer.fill(value, philox_key(seed, options.name)); });
    if (!direct) {
      stream_->copy_to_device(entry.memory.data(), value.raw(), Bytes(value.bytes()));
      stream_->synchronize();
    }
    found = entries_.emplace(options.name, std::move(entry)).first;
  }
  require(found->second.options.type == options.type, "variable `", options.name, "` is ",
          found->second.options.type, " but the model asks for ", options.type,
          "; a variable has one type, in all modes and for all inputs");
  return found->second.memory;
}

bool VariableStore::contains(std::string_view name) const {
  return entries_.find(name) != entries_.end() || (shared_ && shared_->contains(name));
}

std::vector<std::string> VariableStore::names() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries_) out.push_back(name);
  return out;
}

const VariableStore::Entry& VariableStore::at(std::string_view name) const {
  auto found = entries_.find(name);
  if (found == entries_.end() && shared_) return shared_->at(name);
  if (found == entries_.end())
    fail("there is no variable `", name, "`; the model has ",
         entries_.empty() ? "none yet" : join(names(), ", "));
  return found->second;
}

const VariableOptions& VariableStore::options(std::string_view name) const {
  return at(name).options;
}

Array VariableStore::read(std::string_view name) const {
  const Entry& entry = at(name);
  Array out(entry.options.type);
  stream_->copy_to_host(out.raw(), entry.memory.data(), Bytes(out.bytes()));
  stream_->synchronize();
  return out;
}

void VariableStore::write(std::string_view name, const Array& value) {
  const Entry& entry = at(name);
  require(value.type() == entry.options.type, "variable `", name, "` is ", entry.options.type,
          " and cannot take ", value.type());
  stream_->copy_to_device(entry.memory.data(), value.raw(), Bytes(value.bytes()));
  stream_->synchronize();
}

}  // namespace belfry

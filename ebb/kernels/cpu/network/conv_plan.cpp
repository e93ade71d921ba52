// ebb/kernels/cpu/network/conv_plan.cpp -- compiles convolutions by oneDNN, and keeps the last of
// them.
#include "ebb/kernels/cpu/network/conv_plan.h"

#include <pthread.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "ebb/core/base/error.h"
#include "ebb/core/base/half.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/gemm/onednn.h"

namespace ebb::kernels::cpu {
namespace {

using dnnl::memory;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

using Type = dnnl::memory::data_type;

/// What oneDNN says of a call that had to succeed, as an error of ours.
[[noreturn]] void throw_as_ours(const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) {
    throw OutOfMemoryError("convolution: oneDNN needs memory for a kernel, got none");
  }
  throw InternalError(str("convolution: oneDNN must take every call, got status ", error.status,
                          ", ", error.what()));
}

/// Calls body(stream) for primitives to run on this thread only.
template <class Body>
void with_onednn(SignalShield::Kind shield, Body body) {
  const OneDnnScope scope(shield);
  try {
    body(scope.stream());
  } catch (const dnnl::error& error) {
    throw_as_ours(error);
  }
}

constexpr auto kAlgorithm = dnnl::algorithm::convolution_direct;
// With so few channels a blocked layout would be mostly padding.
constexpr int64_t kFewChannels = 4;
constexpr size_t kMostPlans = 512;

/// The last `spatial` of three values.
Dims spatial_dims(const ConvShape& shape, const int64_t* values) {
  return Dims(values + kMaxSpatial - shape.spatial, values + kMaxSpatial);
}

/// oneDNN counts a dense kernel as dilation 0.
Dims dilation_of(const ConvShape& shape) {
  Dims dilation = spatial_dims(shape, shape.dilation);
  for (auto& value : dilation) --value;
  return dilation;
}

/// The padding behind the input with which oneDNN, too, gets the output's size.
Dims padding_behind(const ConvShape& shape) {
  Dims padding;
  for (auto dim = static_cast<int>(kMaxSpatial - shape.spatial); dim < kMaxSpatial; ++dim) {
    const int64_t reach = shape.dilation[dim] * (shape.kernel[dim] - 1) + 1;
    padding.push_back((shape.output[dim] - 1) * shape.stride[dim] + reach - shape.input[dim] -
                      shape.padding[dim]);
  }
  return padding;
}

/// A dense array but for dim 0, whose elements lie `step` apart.
Desc strided(Type type, const Dims& sizes, int64_t step) {
  Dims strides(sizes.size());
  int64_t stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  strides[0] = step;
  return {sizes, type, strides};
}

Desc images_of(Type type, const ConvShape& shape, int64_t channels, int64_t all_channels,
               const int64_t* size) {
  Dims sizes{shape.batch, channels};
  const Dims tail = spatial_dims(shape, size);
  sizes.insert(sizes.end(), tail.begin(), tail.end());
  return strided(type, sizes, all_channels * size[0] * size[1] * size[2]);
}

/// [out, in, kernel...], or with groups in front. `all_in` channels lie between two filters.
Desc weight_of(Type type, const ConvShape& shape, int64_t all_in) {
  Dims sizes{shape.out_channels / shape.groups, shape.in_channels / shape.groups};
  const Dims kernel = spatial_dims(shape, shape.kernel);
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  if (shape.groups == 1) return strided(type, sizes, all_in * shape.kernel_numel());
  sizes.insert(sizes.begin(), shape.groups);
  return strided(type, sizes, shape.weight_numel() / shape.groups);
}

/// The same sizes in any layout.
Desc any_layout(const Desc& plain) {
  return {plain.dims(), plain.data_type(), memory::format_tag::any};
}

Type type_of(DType dtype) { return dtype == DType::float32 ? Type::f32 : Type::bf16; }

/// Whether a kernel is made for this CPU. Others than these compute bfloat16 in float32.
bool is_made_for_cpu(std::string_view kernel, DType dtype) {
  if (kernel.substr(0, 3) == "ref") return false;
  if (dtype == DType::float32) return true;
  return kernel.find("core_bf16") != kernel.npos || kernel.find("amx") != kernel.npos;
}

/// A convolution by a product is as such: onednn.h. The others keep to the thread's stack, but for
/// AMX, whose kernels could not be looked at.
SignalShield::Kind shield_for(std::string_view kernel) {
  const bool may_move = kernel.find("gemm") != kernel.npos || kernel.find("amx") != kernel.npos;
  return may_move ? SignalShield::Kind::all : SignalShield::Kind::none;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::reorder make_reorder(const Desc& from, const Desc& to, size_t& scratch_bytes) {
  const dnnl::reorder::primitive_desc descriptor(cpu_engine(), from, cpu_engine(), to,
                                                 attributes());
  scratch_bytes = std::max(scratch_bytes, descriptor.scratchpad_desc().get_size());
  return dnnl::reorder(descriptor);
}

void execute_reorder(dnnl::stream& stream, const dnnl::reorder& reorder, const memory& from,
                     const memory& to, const memory& scratch) {
  reorder.execute(stream,
                  {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratch}});
}

/// Hands out parts of one block, each aligned to 64 bytes.
class Parts {
 public:
  explicit Parts(void* block) : next_(static_cast<char*>(block)) {}
  void* take(size_t bytes) {
    char* const part = next_;
    next_ += (bytes + 63) / 64 * 64;
    return part;
  }

 private:
  char* next_;
};

}  // namespace

ConvPlan::ConvPlan(const ConvPiece& piece) : pass_(piece.pass), dtype_(piece.dtype) {
  const OneDnnScope scope;
  const ConvShape& shape = piece.shape;
  const Type type = type_of(dtype_);
  input_.plain = images_of(type, shape, shape.in_channels, piece.all_in_channels, shape.input);
  output_.plain = images_of(type, shape, shape.out_channels, piece.all_out_channels, shape.output);
  // Blocks of images add up their weights, which must not be rounded before.
  const bool writes_weight = pass_ == ConvPass::weight;
  weight_.plain = weight_of(writes_weight ? Type::f32 : type, shape, piece.all_in_channels);
  switch (pass_) {
    case ConvPass::output: make_output(piece); break;
    case ConvPass::input: make_input(piece); break;
    case ConvPass::weight: make_weight(piece); break;
  }
}

/// Takes over the layouts that oneDNN chose, and makes the reorders.
template <class Descriptor>
void ConvPlan::finish(const Descriptor& descriptor) {
  is_fast_ = is_made_for_cpu(descriptor.impl_info_str(), dtype_);
  shield_ = shield_for(descriptor.impl_info_str());
  scratch_bytes_ = descriptor.scratchpad_desc().get_size();
  const auto connect = [&](ConvOperand& operand, bool is_written) {
    if (operand.is_plain()) return;
    const Desc& from = is_written ? operand.wanted : operand.plain;
    const Desc& to = is_written ? operand.plain : operand.wanted;
    operand.reorder = make_reorder(from, to, scratch_bytes_);
  };
  connect(input_, pass_ == ConvPass::input);
  connect(weight_, pass_ == ConvPass::weight);
  connect(output_, pass_ == ConvPass::output);
}

void ConvPlan::make_output(const ConvPiece& piece) {
  const ConvShape& shape = piece.shape;
  if (piece.has_bias) bias_ = Desc({shape.out_channels}, type_of(dtype_), memory::format_tag::a);
  const dnnl::convolution_forward::desc wanted(
      dnnl::prop_kind::forward_training, kAlgorithm, any_layout(input_.plain),
      any_layout(weight_.plain), bias_, any_layout(output_.plain),
      spatial_dims(shape, shape.stride), dilation_of(shape), spatial_dims(shape, shape.padding),
      padding_behind(shape));
  const dnnl::convolution_forward::primitive_desc descriptor(wanted, attributes(), cpu_engine());
  input_.wanted = descriptor.src_desc();
  weight_.wanted = descriptor.weights_desc();
  output_.wanted = descriptor.dst_desc();
  convolution_ = dnnl::convolution_forward(descriptor);
  finish(descriptor);
}

namespace {

/// Gradients want a forward convolution to be derived from.
dnnl::convolution_forward::primitive_desc forward_hint(const ConvShape& shape, const Desc& input,
                                                       const Desc& weight, const Desc& output) {
  const dnnl::convolution_forward::desc wanted(
      dnnl::prop_kind::forward_training, kAlgorithm, input, weight, output,
      spatial_dims(shape, shape.stride), dilation_of(shape), spatial_dims(shape, shape.padding),
      padding_behind(shape));
  return {wanted, attributes(), cpu_engine()};
}

}  // namespace

void ConvPlan::make_input(const ConvPiece& piece) {
  const ConvShape& shape = piece.shape;
  const bool has_few = shape.in_channels <= kFewChannels;
  const Desc input = has_few ? input_.plain : any_layout(input_.plain);
  const Desc weight = any_layout(weight_.plain), output = any_layout(output_.plain);
  const dnnl::convolution_backward_data::desc wanted(
      kAlgorithm, input, weight, output, spatial_dims(shape, shape.stride), dilation_of(shape),
      spatial_dims(shape, shape.padding), padding_behind(shape));
  const dnnl::convolution_backward_data::primitive_desc descriptor(
      wanted, attributes(), cpu_engine(), forward_hint(shape, input, weight, output));
  input_.wanted = descriptor.diff_src_desc();
  weight_.wanted = descriptor.weights_desc();
  output_.wanted = descriptor.diff_dst_desc();
  convolution_ = dnnl::convolution_backward_data(descriptor);
  finish(descriptor);
  if (!piece.has_bias) return;
  bias_channels_ = shape.in_channels;
  bias_size_ = shape.input_numel();
  bias_images_ = shape.batch;
  bias_image_stride_ = piece.all_in_channels * bias_size_;
}

void ConvPlan::make_weight(const ConvPiece& piece) {
  const ConvShape& shape = piece.shape;
  const Desc input = any_layout(input_.plain), output = any_layout(output_.plain);
  const Desc weight = any_layout(weight_.plain);
  const Desc forward_weight(weight.dims(), type_of(dtype_), memory::format_tag::any);
  const dnnl::convolution_backward_weights::desc wanted(
      kAlgorithm, input, weight, output, spatial_dims(shape, shape.stride), dilation_of(shape),
      spatial_dims(shape, shape.padding), padding_behind(shape));
  const dnnl::convolution_backward_weights::primitive_desc descriptor(
      wanted, attributes(), cpu_engine(), forward_hint(shape, input, forward_weight, output));
  input_.wanted = descriptor.src_desc();
  weight_.wanted = descriptor.diff_weights_desc();
  output_.wanted = descriptor.diff_dst_desc();
  convolution_ = dnnl::convolution_backward_weights(descriptor);
  finish(descriptor);
}

void ConvPlan::prepare_weight(const void* weight, void* prepared) const {
  const Scratch block(std::max<size_t>(64, scratch_bytes_));
  with_onednn(SignalShield::Kind::none, [&](dnnl::stream& stream) {
    execute_reorder(stream, weight_.reorder, memory_at(weight_.plain, weight),
                    memory_at(weight_.wanted, prepared),
                    scratch_at(block.as<void>(), scratch_bytes_));
  });
}

void ConvPlan::run(const ConvArrays& arrays) const {
  with_onednn(shield_, [&](dnnl::stream& stream) { execute(stream, arrays); });
}

void ConvPlan::execute(dnnl::stream& stream, const ConvArrays& arrays) const {
  const bool writes_weight = pass_ == ConvPass::weight;
  const size_t bytes = input_.copy_bytes() + output_.copy_bytes() +
                       (writes_weight ? weight_.copy_bytes() : 0) + scratch_bytes_ + 64;
  const Scratch block((bytes + 63) / 64 * 64);
  Parts parts(block.as<void>());
  const memory scratch = scratch_at(parts.take(scratch_bytes_), scratch_bytes_);

  const auto copied = [&](const ConvOperand& operand, const void* data) {
    return memory_at(operand.wanted, operand.is_plain() ? data : parts.take(operand.copy_bytes()));
  };
  const auto read = [&](const ConvOperand& operand, const void* data, const memory& copy) {
    if (operand.is_plain()) return;
    execute_reorder(stream, operand.reorder, memory_at(operand.plain, data), copy, scratch);
  };
  const auto write = [&](const ConvOperand& operand, const memory& copy, void* data) {
    if (operand.is_plain()) return;
    execute_reorder(stream, operand.reorder, copy, memory_at(operand.plain, data), scratch);
  };
  const memory input = copied(input_, arrays.input), output = copied(output_, arrays.output);
  const memory weight =
      writes_weight ? copied(weight_, arrays.weight) : memory_at(weight_.wanted, arrays.weight);
  switch (pass_) {
    case ConvPass::output:
      read(input_, arrays.input, input);
      convolution_.execute(stream, {{DNNL_ARG_SRC, input},
                                    {DNNL_ARG_WEIGHTS, weight},
                                    {DNNL_ARG_BIAS, memory_at(bias_, arrays.bias)},
                                    {DNNL_ARG_DST, output},
                                    {DNNL_ARG_SCRATCHPAD, scratch}});
      return write(output_, output, arrays.output);
    case ConvPass::input:
      read(output_, arrays.output, output);
      convolution_.execute(stream, {{DNNL_ARG_DIFF_DST, output},
                                    {DNNL_ARG_WEIGHTS, weight},
                                    {DNNL_ARG_DIFF_SRC, input},
                                    {DNNL_ARG_SCRATCHPAD, scratch}});
      write(input_, input, arrays.input);
      if (arrays.bias == nullptr) return;
      if (dtype_ == DType::float32) {
        return add_bias(static_cast<float*>(arrays.input), static_cast<const float*>(arrays.bias));
      }
      return add_bias(static_cast<BFloat16*>(arrays.input),
                      static_cast<const BFloat16*>(arrays.bias));
    case ConvPass::weight:
      read(input_, arrays.input, input);
      read(output_, arrays.output, output);
      convolution_.execute(stream, {{DNNL_ARG_SRC, input},
                                    {DNNL_ARG_DIFF_DST, output},
                                    {DNNL_ARG_DIFF_WEIGHTS, weight},
                                    {DNNL_ARG_SCRATCHPAD, scratch}});
      return write(weight_, weight, arrays.weight);
  }
}

/// oneDNN's transposed pass knows no bias.
template <typename T>
void ConvPlan::add_bias(T* input, const T* bias) const {
  for (int64_t image = 0; image < bias_images_; ++image) {
    for (int64_t channel = 0; channel < bias_channels_; ++channel) {
      T* const target = input + image * bias_image_stride_ + channel * bias_size_;
      const auto value = static_cast<float>(bias[channel]);
      for (int64_t i = 0; i < bias_size_; ++i) {
        target[i] = static_cast<T>(static_cast<float>(target[i]) + value);
      }
    }
  }
}

namespace {

/// All that tells pieces apart, in one row.
struct PlanKey {
  std::array<int64_t, 28> values;

  explicit PlanKey(const ConvPiece& piece) {
    const ConvShape& shape = piece.shape;
    size_t count = 0;
    for (const int64_t value :
         {static_cast<int64_t>(piece.pass), static_cast<int64_t>(piece.has_bias),
          static_cast<int64_t>(piece.dtype), piece.all_in_channels, piece.all_out_channels,
          shape.spatial, shape.batch, shape.groups, shape.in_channels, shape.out_channels}) {
      values[count++] = value;
    }
    for (const int64_t* list :
         {shape.input, shape.kernel, shape.output, shape.stride, shape.padding, shape.dilation}) {
      for (int dim = 0; dim < kMaxSpatial; ++dim) values[count++] = list[dim];
    }
  }
  bool operator==(const PlanKey&) const = default;
};

struct PlanHash {
  size_t operator()(const PlanKey& key) const {
    uint64_t hash = 0;
    for (const int64_t value : key.values) {
      hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

/// The plans used last. Null plans, of shapes that oneDNN has no kernel for, are kept as well.
class PlanCache {
 public:
  using Plan = std::shared_ptr<const ConvPlan>;

  bool find(const PlanKey& key, Plan& plan) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end()) return false;
    plans_.splice(plans_.begin(), plans_, found->second);
    plan = found->second->second;
    return true;
  }
  void insert(const PlanKey& key, const Plan& plan) {
    const std::lock_guard lock(mutex_);
    plans_.emplace_front(key, plan);
    places_.emplace(key, plans_.begin());
    if (plans_.size() <= kMostPlans) return;
    places_.erase(plans_.back().first);
    plans_.pop_back();
  }
  std::mutex& mutex() { return mutex_; }

 private:
  std::mutex mutex_;
  std::list<std::pair<PlanKey, Plan>> plans_;  // the last used one first
  std::unordered_map<PlanKey, std::list<std::pair<PlanKey, Plan>>::iterator, PlanHash> places_;
};

PlanCache& plan_cache() {
  static auto* const cache = new PlanCache;
  return *cache;
}

// Threads make plans one after another: of two that want the same plan one waits for it instead of
// compiling it, too, and no fork comes while oneDNN holds locks of its own for it.
std::mutex& making_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

void lock_plans() {
  making_mutex().lock();
  plan_cache().mutex().lock();
}
void unlock_plans() {
  plan_cache().mutex().unlock();
  making_mutex().unlock();
}

// A fork waits until no thread is in the cache: the child could never unlock it.
[[maybe_unused]] const int fork_handlers = pthread_atfork(lock_plans, unlock_plans, unlock_plans);

std::shared_ptr<const ConvPlan> make_plan(const ConvPiece& piece) {
  try {
    auto plan = std::make_shared<const ConvPlan>(piece);
    return plan->is_fast() ? plan : nullptr;
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return nullptr;
    throw_as_ours(error);
  }
}

}  // namespace

std::shared_ptr<const ConvPlan> plan_for(const ConvPiece& piece) {
  const PlanKey key(piece);
  std::shared_ptr<const ConvPlan> plan;
  if (plan_cache().find(key, plan)) return plan;
  const std::lock_guard turn(making_mutex());
  if (plan_cache().find(key, plan)) return plan;  // another thread was faster
  plan = make_plan(piece);
  plan_cache().insert(key, plan);
  return plan;
}

}  // namespace ebb::kernels::cpu

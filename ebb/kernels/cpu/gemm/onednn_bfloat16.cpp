// ebb/kernels/cpu/gemm/onednn_bfloat16.cpp -- products of bfloat16 matrices by oneDNN, each shape
// compiled once a thread.
#include <array>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "ebb/core/base/error.h"
#include "ebb/core/runtime/allocator.h"
#include "ebb/kernels/cpu/gemm/gemm.h"
#include "ebb/kernels/cpu/gemm/onednn.h"

namespace ebb::kernels::cpu {
namespace {

using dnnl::memory;
using Desc = memory::desc;
using Type = memory::data_type;

constexpr size_t kMostPlans = 256;

Desc matrix(int64_t rows, int64_t columns, StoredMatrix stored) {
  const memory::dims strides =
      stored.is_turned ? memory::dims{1, stored.ld} : memory::dims{stored.ld, 1};
  return {{rows, columns}, Type::bf16, strides};
}

/// A product of one shape, and its operands: made once, shown other arrays at each call.
struct Plan {
  Desc a, b, bias, c;
  dnnl::matmul product;
  size_t scratch_bytes;
  // In the order of `arguments`.
  memory a_memory, b_memory, c_memory, scratch_memory, bias_memory;
  std::array<dnnl_exec_arg_t, 5> arguments;

  Plan(const Gemm& g, const StoredOperands& stored, bool has_bias)
      : a(matrix(g.m, g.k, stored.a)),
        b(matrix(g.k, g.n, stored.b)),
        c(matrix(g.m, g.n, {false, g.m == 1 ? g.n : g.ldc})) {
    if (has_bias) bias = matrix(1, g.n, {false, g.n});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::desc description =
        has_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
    const dnnl::matmul::primitive_desc chosen(description, attributes, cpu_engine());
    product = dnnl::matmul(chosen);
    scratch_bytes = chosen.scratchpad_desc().get_size();
    a_memory = memory_at(a, nullptr);
    b_memory = memory_at(b, nullptr);
    c_memory = memory_at(c, nullptr);
    scratch_memory = scratch_at(nullptr, scratch_bytes);
    if (has_bias) bias_memory = memory_at(bias, nullptr);
    arguments = {{{DNNL_ARG_SRC, a_memory.get()},
                  {DNNL_ARG_WEIGHTS, b_memory.get()},
                  {DNNL_ARG_DST, c_memory.get()},
                  {DNNL_ARG_SCRATCHPAD, scratch_memory.get()},
                  {DNNL_ARG_BIAS, has_bias ? bias_memory.get() : nullptr}}};
  }
};

using Key = std::array<int64_t, 9>;
struct HashOfKey {
  size_t operator()(const Key& key) const {
    size_t hash = 0;
    for (const int64_t part : key) hash = hash * 1'000'003 + static_cast<size_t>(part);
    return hash;
  }
};

/// Compiling takes a hundred times as long as a small product.
Plan& plan_for(const Gemm& g, bool has_bias) {
  thread_local std::unordered_map<Key, Plan, HashOfKey> plans;
  const StoredOperands stored = stored_operands(g);
  const Key key{g.m,         g.n,   g.k,     stored.a.is_turned, stored.a.ld, stored.b.is_turned,
                stored.b.ld, g.ldc, has_bias};
  if (const auto found = plans.find(key); found != plans.end()) return found->second;
  if (plans.size() >= kMostPlans) plans.clear();
  return plans.emplace(key, Plan(g, stored, has_bias)).first->second;
}

void show(memory& operand, const void* data) { operand.set_data_handle(const_cast<void*>(data)); }

void execute(const OneDnnScope& scope, Plan& plan, const Gemm& g, const void* bias) {
  const Scratch scratch(std::max<size_t>(1, plan.scratch_bytes));
  show(plan.a_memory, g.a.data);
  show(plan.b_memory, g.b.data);
  show(plan.c_memory, g.c);
  show(plan.scratch_memory, scratch.as<void>());
  if (bias != nullptr) show(plan.bias_memory, bias);
  const int count = bias != nullptr ? 5 : 4;
  const dnnl_status_t status = dnnl_primitive_execute(plan.product.get(), scope.stream().get(),
                                                      count, plan.arguments.data());
  if (status != dnnl_success) throw dnnl::error(status, "could not execute");
}

}  // namespace

namespace {

/// An instruction set is the bits of all that it holds.
bool onednn_has(unsigned set) {
  const OneDnnScope scope;
  return (dnnl_get_effective_cpu_isa() & set) == set;
}

bool has_tiles() {
  static const bool has_them = onednn_has(dnnl_cpu_isa_avx512_core_amx);
  return has_them;
}

}  // namespace

bool has_bfloat16_products() {
  static const bool has_them =
      has_tiles() || (onednn_has(dnnl_cpu_isa_avx512_core_bf16) && !__builtin_cpu_is("intel"));
  return has_them;
}

void onednn_bfloat16_gemm(const Gemm& g, const void* bias) {
  // The kernels for AVX512-BF16 keep to the stack; those for AMX could not be looked at.
  const OneDnnScope scope(has_tiles() ? SignalShield::Kind::all : SignalShield::Kind::none);
  try {
    execute(scope, plan_for(g, bias != nullptr), g, bias);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) {
      throw OutOfMemoryError(str("matmul: oneDNN needs memory for a product of ", g.m, " x ", g.k,
                                 " and ", g.k, " x ", g.n, ", got none"));
    }
    throw InternalError(str("matmul: oneDNN must take every product, got status ", error.status));
  }
}

}  // namespace ebb::kernels::cpu

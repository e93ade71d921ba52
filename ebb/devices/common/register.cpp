// ebb/devices/common/register.cpp -- which kernel stands for which name and dtypes.
#include "ebb/devices/common/register.h"

#include <initializer_list>

#include "ebb/devices/common/base/copy.h"
#include "ebb/devices/common/gemm/matmul.h"
#include "ebb/devices/common/index/index.h"
#include "ebb/devices/common/index/index_watch.h"
#include "ebb/devices/common/index/places.h"
#include "ebb/devices/common/network/attention.h"
#include "ebb/devices/common/network/conv.h"
#include "ebb/devices/common/network/loss.h"
#include "ebb/devices/common/network/norm.h"
#include "ebb/devices/common/network/pool.h"
#include "ebb/devices/common/network/recurrent.h"
#include "ebb/devices/common/network/softmax.h"
#include "ebb/devices/common/pointwise/arrange.h"
#include "ebb/devices/common/pointwise/optim.h"
#include "ebb/devices/common/pointwise/pointwise.h"
#include "ebb/devices/common/pointwise/random.h"
#include "ebb/devices/common/reduce/extremum.h"
#include "ebb/devices/common/reduce/reduce.h"
#include "ebb/devices/common/reduce/scan.h"
#include "ebb/devices/common/reduce/sort.h"
#include "ebb/devices/launch/dtype_text.h"
#include "ebb/kernels/tables.h"
#include "ebb/ops/registry.h"

namespace ebb::devices {
namespace {

namespace signature = kernels::signature;

/// Registers kernels for devices of one type.
class Registrar {
 public:
  explicit Registrar(DeviceType type) : backend_(backend_of(type)) {}

  void add(const char* name, uint32_t hash, DType dtype, void (*function)()) const {
    ops::register_kernel(name, hash, {backend_, Layout::strided, dtype}, function);
  }
  /// `function` for all dtypes for which `is_wanted` holds, among those that the dialect has.
  template <typename Function>
  void add(const char* name, uint32_t hash, bool (*is_wanted)(DType), Function* function) const {
    for (int index = 0; index < kDTypeCount; ++index) {
      const auto dtype = static_cast<DType>(index);
      if (text_of(dtype) != nullptr && is_wanted(dtype)) add(name, hash, dtype, erased(function));
    }
  }

 private:
  Backend backend_;
};

bool any(DType) { return true; }
bool floating(DType dtype) { return is_floating(dtype); }
bool ordered(DType dtype) { return !is_complex(dtype); }
bool numeric(DType dtype) { return ordered(dtype) && dtype != DType::boolean; }
bool not_half(DType dtype) { return !is_half(dtype); }

void add_pointwise(const Registrar& kernels) {
  for (const PointwiseRow& row : pointwise_rows()) {
    for (int index = 0; index < kDTypeCount; ++index) {
      const auto dtype = static_cast<DType>(index);
      if (expression_for(row, dtype) != nullptr) {
        kernels.add(row.name, row.signature, dtype, row.function);
      }
    }
  }
}

void add_copies(const Registrar& kernels) {
  kernels.add("cast", signature::cast, any, run_cast);
  kernels.add("fill", signature::fill, any, run_fill);
  kernels.add("arange", signature::arange, any, run_arange);
  kernels.add("cat", signature::cat, any, run_cat);
}

void add_indexing(const Registrar& kernels) {
  kernels.add("combine_index", signature::combine_index, DType::int64, erased(run_combine_index));
  // Of bool alone, but ops ask for the operand's dtype before they make one of it.
  kernels.add("find_true", signature::find_true, any, run_find_true);
  kernels.add("gather", signature::gather, any, run_gather);
  kernels.add("index_add", signature::index_add, any, run_index_add);
  kernels.add("index_copy", signature::index_copy, any, run_index_copy);
  kernels.add("index_select", signature::index_select, any, run_index_select);
  kernels.add("scatter", signature::scatter, any, run_scatter);
  kernels.add("scatter_add", signature::scatter_add, any, run_scatter_add);
  kernels.add("scatter_amax", signature::scatter_amax, any, run_scatter_amax);
  kernels.add("scatter_amin", signature::scatter_amin, any, run_scatter_amin);
  kernels.add("scatter_prod", signature::scatter_prod, not_half, run_scatter_prod);
  kernels.add("unravel", signature::unravel, DType::int64, erased(run_unravel));
}

void add_random(const Registrar& kernels) {
  kernels.add("cauchy", signature::cauchy, floating, run_cauchy);
  kernels.add("dropout", signature::dropout, floating, run_dropout);
  kernels.add("exponential", signature::exponential, floating, run_exponential);
  kernels.add("geometric", signature::geometric, ordered, run_geometric);
  kernels.add("log_normal", signature::log_normal, floating, run_log_normal);
  kernels.add("masked_scale", signature::masked_scale, floating, run_masked_scale);
  // Of float64 alone, but ops ask for the operand's dtype before they widen it.
  kernels.add("multinomial", signature::multinomial, floating, run_multinomial);
  kernels.add("rand", signature::rand, floating, run_rand);
  kernels.add("randint", signature::randint, ordered, run_randint);
  kernels.add("randn", signature::randn, floating, run_randn);
  kernels.add("randperm", signature::randperm, DType::int64, erased(run_randperm));
}

void add_reductions(const Registrar& kernels) {
  for (const ReductionRow& row : reduction_rows()) {
    const bool is_floating_only = row.dtypes == DTypesOfRow::floating;
    kernels.add(row.name, row.signature, is_floating_only ? floating : ordered, row.function);
  }
  kernels.add("norm", signature::norm, floating, run_norm);
  kernels.add("std", signature::std, floating, run_std);
  kernels.add("var", signature::var, floating, run_var);
}

void add_lines(const Registrar& kernels) {
  kernels.add("linspace", signature::linspace, ordered, run_linspace);
  kernels.add("max_dim", signature::max_dim, ordered, run_max_dim);
  kernels.add("min_dim", signature::min_dim, ordered, run_min_dim);
  kernels.add("nth", signature::nth, ordered, run_nth);
  kernels.add("running_extremum", signature::running_extremum, ordered, run_running_extremum);
  // Of narrow integers too, as sums are.
  kernels.add("scan", signature::scan, ordered, run_scan);
  kernels.add("search", signature::search, ordered, run_search);
  kernels.add("sort", signature::sort, ordered, run_sort);
  kernels.add("triangle", signature::triangle, any, run_triangle);
}

void add_norms(const Registrar& kernels) {
  kernels.add("batch_norm", signature::batch_norm, floating, run_batch_norm);
  kernels.add("batch_norm_backward", signature::batch_norm_backward, floating,
              run_batch_norm_backward);
  kernels.add("row_norm", signature::row_norm, floating, run_row_norm);
  kernels.add("row_norm_backward", signature::row_norm_backward, floating, run_row_norm_backward);
}

void add_losses(const Registrar& kernels) {
  kernels.add("difference_loss", signature::difference_loss, floating, run_difference_loss);
  kernels.add("difference_loss_backward", signature::difference_loss_backward, floating,
              run_difference_loss_backward);
  // Of integers too: with a dtype= the op converts them first.
  kernels.add("log_softmax", signature::log_softmax, ordered, run_log_softmax);
  kernels.add("log_softmax_backward", signature::log_softmax_backward, floating,
              run_log_softmax_backward);
  kernels.add("logsumexp", signature::logsumexp, floating, run_logsumexp);
  kernels.add("nll_loss", signature::nll_loss, floating, run_nll_loss);
  kernels.add("nll_loss_backward", signature::nll_loss_backward, floating, run_nll_loss_backward);
  kernels.add("softmax", signature::softmax, ordered, run_softmax);
  kernels.add("softmax_backward", signature::softmax_backward, floating, run_softmax_backward);
}

void add_pools(const Registrar& kernels) {
  kernels.add("avg_pool", signature::avg_pool, floating, run_avg_pool);
  kernels.add("avg_pool_backward", signature::avg_pool_backward, floating, run_avg_pool_backward);
  kernels.add("max_pool", signature::max_pool, floating, run_max_pool);
  kernels.add("max_pool_backward", signature::max_pool_backward, floating, run_max_pool_backward);
  kernels.add("max_pool_places", signature::max_pool_places, floating, run_max_pool_places);
}

void add_recurrent(const Registrar& kernels) {
  kernels.add("gru_scan", signature::gru_scan, floating, run_gru_scan);
  kernels.add("gru_scan_backward", signature::gru_scan_backward, floating, run_gru_scan_backward);
  kernels.add("lstm_scan", signature::lstm_scan, floating, run_lstm_scan);
  kernels.add("lstm_scan_backward", signature::lstm_scan_backward, floating,
              run_lstm_scan_backward);
  kernels.add("rnn_scan", signature::rnn_scan, floating, run_rnn_scan);
  kernels.add("rnn_scan_backward", signature::rnn_scan_backward, floating, run_rnn_scan_backward);
}

void add_products(const Registrar& kernels) {
  kernels.add("attention", signature::attention, floating, run_attention);
  kernels.add("attention_backward", signature::attention_backward, floating,
              run_attention_backward);
  kernels.add("attention_dropout", signature::attention_dropout, floating, run_attention_dropout);
  kernels.add("conv_forward", signature::conv_forward, floating, run_conv_forward);
  kernels.add("conv_input", signature::conv_input, floating, run_conv_input);
  kernels.add("conv_weight", signature::conv_weight, floating, run_conv_weight);
  kernels.add("linear", signature::linear, numeric, run_linear);
  kernels.add("matmul", signature::matmul, numeric, run_matmul);
}

}  // namespace

void register_kernels(DeviceType type, Driver& driver) {
  set_driver(driver);
  const Registrar kernels(type);
  add_pointwise(kernels);
  add_copies(kernels);
  add_indexing(kernels);
  add_random(kernels);
  kernels::index_watch(backend_of(type)) = run_index_watch;
  kernels::range_watch(backend_of(type)) = run_range_watch;
  kernels::step_table(backend_of(type)) = step_functions();
  add_reductions(kernels);
  add_lines(kernels);
  add_losses(kernels);
  add_norms(kernels);
  add_pools(kernels);
  add_products(kernels);
  add_recurrent(kernels);
}

}  // namespace ebb::devices

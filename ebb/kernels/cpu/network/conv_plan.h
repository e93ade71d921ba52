// ebb/kernels/cpu/network/conv_plan.h -- a piece of a convolution, compiled by oneDNN and kept for
// reuse.
//
// oneDNN works fastest on arrays in blocked layouts of its own choice. A ConvPlan holds the
// compiled convolution of one shape and the reorders between those layouts and plain arrays. Making
// one takes milliseconds, so the last ones are kept (plan_for). A plan never changes and may run on
// many threads at once: all its scratch memory belongs to the call.
#pragma once

#include <array>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "ebb/core/runtime/signal_shield.h"
#include "ebb/kernels/cpu/network/conv.h"

namespace ebb::kernels::cpu {

/// One piece: some images and channels of a whole convolution. `shape` is the piece's; the arrays
/// are those of the whole, which has so many channels.
struct ConvPiece {
  ConvPass pass;
  DType dtype;  // float32 or bfloat16
  bool has_bias;
  ConvShape shape;
  int64_t all_in_channels, all_out_channels;
};

/// One operand: its plain array, the layout that the convolution wants, and the way between them.
struct ConvOperand {
  dnnl::memory::desc plain, wanted;
  dnnl::reorder reorder;  // empty if plain is wanted
  bool is_plain() const { return plain == wanted; }
  /// Bytes of a copy in the wanted layout, a multiple of 64; none if the array serves itself.
  size_t copy_bytes() const { return is_plain() ? 0 : (wanted.get_size() + 63) / 64 * 64; }
};

class ConvPlan {
 public:
  /// Compiles the piece. Throws dnnl::error if oneDNN has no kernel for it.
  explicit ConvPlan(const ConvPiece& piece);

  /// Whether oneDNN has a kernel made for this CPU, not just a reference or an emulation.
  bool is_fast() const { return is_fast_; }
  const ConvOperand& weight() const { return weight_; }

  /// Bytes that prepare_weight() writes; 0 if the plain weight will do.
  size_t prepared_bytes() const { return weight_.copy_bytes(); }
  /// Copies a weight into the layout that run() wants. Only if prepared_bytes() is not 0.
  void prepare_weight(const void* weight, void* prepared) const;
  /// Runs the piece. The weight that a pass reads is plain or prepared; all else is plain.
  void run(const ConvArrays& arrays) const;

 private:
  void execute(dnnl::stream& stream, const ConvArrays& arrays) const;
  void make_output(const ConvPiece& piece);
  void make_input(const ConvPiece& piece);
  void make_weight(const ConvPiece& piece);
  template <typename T>
  void add_bias(T* input, const T* bias) const;
  template <class Descriptor>
  void finish(const Descriptor& descriptor);

  ConvPass pass_;
  DType dtype_;
  ConvOperand input_, weight_, output_;
  dnnl::memory::desc bias_;
  dnnl::primitive convolution_;
  size_t scratch_bytes_ = 0;
  bool is_fast_ = false;
  SignalShield::Kind shield_ = SignalShield::Kind::all;  // while it runs
  int64_t bias_channels_ = 0, bias_size_ = 0, bias_images_ = 0, bias_image_stride_ = 0;
};

/// The plan of a piece: one of the last ones used, or a new one; null if oneDNN has no kernel.
std::shared_ptr<const ConvPlan> plan_for(const ConvPiece& piece);

}  // namespace ebb::kernels::cpu

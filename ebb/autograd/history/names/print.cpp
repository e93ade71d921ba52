// ebb/autograd/history/names/print.cpp -- the text of a tensor, in C++ and in Python: PyTorch's
// layout.
//
// Elements are formatted to one width. Above the threshold only a few at each end of a dim are
// shown, and fewer if there are many dims; they are chosen first, so that printing a large tensor
// takes no longer than printing a small one. Start reading at to_text().
#include "ebb/autograd/history/names/print.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "ebb/autograd/history/grad_mode.h"
#include "ebb/autograd/history/names/tensor_name.h"
#include "ebb/autograd/history/node.h"
#include "ebb/autograd/history/tensor_tangents.h"
#include "ebb/autograd/history/variable.h"
#include "ebb/autograd/ops/col_indices.h"
#include "ebb/autograd/ops/crow_indices.h"
#include "ebb/autograd/ops/detach.h"
#include "ebb/autograd/ops/stored_indices.h"
#include "ebb/autograd/ops/stored_values.h"
#include "ebb/autograd/ops/to_device.h"
#include "ebb/core/base/quotes.h"
#include "ebb/core/base/scalar.h"
#include "ebb/core/tensor/layout.h"
#include "ebb/core/tensor/meta.h"

namespace ebb {
namespace {

constexpr int64_t kMost = 10'000;  // a summary shows no more
constexpr size_t kIndent = 7;      // of "tensor("

std::mutex options_mutex;
PrintOptions current_options;

/// `value` with so many digits after the point, of which there are at most kMostDigits.
std::string formatted(const char* format, int digits, double value) {
  char text[320 + PrintOptions::kMostDigits];  // the largest double has 309 digits before it
  return {text, static_cast<size_t>(std::snprintf(text, sizeof text, format, digits, value))};
}

/// Formats real numbers alike: those of one tensor, or one part of its complex numbers.
class Column {
 public:
  Column(const std::vector<Scalar>& values, DType dtype, const PrintOptions& options)
      : dtype_(dtype), precision_(options.precision) {
    choose(values);
    is_scientific_ = options.scientific.value_or(is_scientific_);
    // Zero, infinities and NaN do not widen a column.
    for (const Scalar& value : values) {
      const double size = std::abs(value.to_double());
      const bool is_shaping = !is_floating(dtype) || (std::isfinite(size) && size != 0);
      if (is_shaping) width_ = std::max(width_, one(value).size());
    }
  }

  size_t width() const { return width_; }

  std::string one(const Scalar& value) const {
    if (dtype_ == DType::boolean) return value.to_int() != 0 ? "True" : "False";
    if (is_floating(dtype_)) return real(value.to_double());
    const int64_t whole = value.to_int();
    const bool is_unsigned = dtype_ == DType::uint64;  // its bits, see Body::element()
    return is_unsigned ? std::to_string(static_cast<uint64_t>(whole)) : std::to_string(whole);
  }

  std::string padded(const Scalar& value) const {
    const std::string text = one(value);
    return std::string(width_ - std::min(width_, text.size()), ' ') + text;
  }

 private:
  void choose(const std::vector<Scalar>& values) {
    double smallest = INFINITY, largest = 0;
    is_integral_ = true;
    for (const Scalar& scalar : values) {
      const double value = scalar.to_double();
      if (!std::isfinite(value) || value == 0) continue;
      smallest = std::min(smallest, std::abs(value));
      largest = std::max(largest, std::abs(value));
      is_integral_ &= value == std::ceil(value);
    }
    if (largest == 0) return;
    is_scientific_ = largest > 1e8 || largest / smallest > 1000 || smallest < 1e-4;
  }

  std::string real(double value) const {
    if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    if (is_scientific_) return formatted("%.*e", precision_, value);
    return is_integral_ ? formatted("%.*f.", 0, value) : formatted("%.*f", precision_, value);
  }

  DType dtype_;
  int precision_;
  bool is_integral_ = false, is_scientific_ = false;
  size_t width_ = 0;
};

std::vector<Scalar> real_parts(const std::vector<Scalar>& values) {
  std::vector<Scalar> parts;
  for (const Scalar& value : values) parts.emplace_back(value.to_complex().real());
  return parts;
}
std::vector<Scalar> imaginary_parts(const std::vector<Scalar>& values) {
  std::vector<Scalar> parts;
  for (const Scalar& value : values) parts.emplace_back(value.to_complex().imag());
  return parts;
}

/// Formats the numbers of one tensor alike; each part of complex numbers in its own way.
class Formatter {
 public:
  Formatter(const std::vector<Scalar>& values, DType dtype, const PrintOptions& options)
      : first_(is_complex(dtype) ? Column(real_parts(values), real_type_of(dtype), options)
                                 : Column(values, dtype, options)) {
    if (is_complex(dtype)) second_.emplace(imaginary_parts(values), real_type_of(dtype), options);
  }

  size_t width() const {
    return first_.width() + (second_.has_value() ? second_->width() + 1 : 0);  // and a "j"
  }

  std::string one(const Scalar& value) const {
    return second_.has_value() ? first_.one(value.to_complex().real()) + imaginary(value)
                               : first_.one(value);
  }
  std::string padded(const Scalar& value) const {
    return second_.has_value() ? first_.padded(value.to_complex().real()) + imaginary(value)
                               : first_.padded(value);
  }

 private:
  std::string imaginary(const Scalar& value) const {
    const std::string text = second_->one(value.to_complex().imag());
    return (text[0] == '-' ? "" : "+") + text + "j";
  }

  Column first_;
  std::optional<Column> second_;
};

int64_t shown_count(int64_t size, int64_t edge) {
  return std::min(size, std::max<int64_t>(1, 2 * edge));
}

/// How many elements a summary shows at each end of each dim; 0: the first one alone.
std::vector<int64_t> edges_of(IntSpan sizes, int64_t edge_items) {
  std::vector<int64_t> edges(sizes.size(), edge_items);
  const auto is_too_many = [&] {
    int64_t count = 1;
    for (size_t dim = 0; dim < sizes.size() && count <= kMost; ++dim) {
      count *= shown_count(sizes[dim], edges[dim]);
    }
    return count > kMost;
  };
  for (int64_t fewer = std::min(edge_items, kMost) - 1; fewer >= 0; --fewer) {
    for (int64_t& edge : edges) {
      if (is_too_many()) edge = fewer;
    }
  }
  return edges;
}

/// The elements of a tensor of the CPU, whole or their corners.
class Body {
 public:
  Body(const Tensor& tensor, const PrintOptions& options) : tensor_(tensor), options_(options) {
    if (tensor.numel() <= options.threshold) {
      edges_.assign(static_cast<size_t>(tensor.ndim()), tensor.numel());
    } else {
      edges_ = edges_of(tensor.sizes(), options.edge_items);
    }
    collect(0, tensor.storage_offset());
  }

  std::string text() {
    const Formatter formatter(values_, tensor_.dtype(), options_);
    next_ = 0;
    return nested(formatter, 0);
  }

 private:
  bool is_cut(int dim) const {
    return tensor_.size(dim) > shown_count(tensor_.size(dim), edges_[static_cast<size_t>(dim)]);
  }
  int64_t head_of(int dim) const { return std::max<int64_t>(1, edges_[static_cast<size_t>(dim)]); }

  /// The indices along a dim that are shown.
  std::vector<int64_t> shown(int dim) const {
    const int64_t size = tensor_.size(dim), edge = edges_[static_cast<size_t>(dim)];
    std::vector<int64_t> indices;
    for (int64_t index = 0; index < size; ++index) {
      if (is_cut(dim) && index == head_of(dim)) index = size - edge;
      if (index < size) indices.push_back(index);
    }
    return indices;
  }

  Scalar element(int64_t offset) const {
    const Tensor one = make_view(tensor_, {}, {}, offset);
    // A Scalar holds no more than INT64_MAX.
    if (one.dtype() == DType::uint64) return static_cast<int64_t>(*one.data<uint64_t>());
    return one.item_scalar();
  }

  void collect(int dim, int64_t offset) {
    if (dim == tensor_.ndim()) return values_.push_back(element(offset));
    for (const int64_t index : shown(dim))
      collect(dim + 1, offset + index * tensor_.strides()[dim]);
  }

  std::string nested(const Formatter& formatter, int dim) {
    if (dim == tensor_.ndim()) return formatter.one(values_[next_++]);
    const bool is_row = dim == tensor_.ndim() - 1;
    std::vector<std::string> parts;
    for (size_t count = shown(dim).size(); count > 0; --count) {
      parts.push_back(is_row ? formatter.padded(values_[next_++]) : nested(formatter, dim + 1));
    }
    if (is_cut(dim)) parts.insert(parts.begin() + head_of(dim), is_row ? " ..." : "...");
    const size_t indent = kIndent + static_cast<size_t>(dim);
    const std::string blanks(indent + 1, ' ');
    const size_t per_line = std::max<size_t>(
        1, (std::max(options_.line_width, indent) - indent) / (formatter.width() + 2));
    std::string text = "[";
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && is_row) text += i % per_line == 0 ? ",\n" + blanks : ", ";
      if (i > 0 && !is_row) {
        text += "," + std::string(static_cast<size_t>(tensor_.ndim() - 1 - dim), '\n') + blanks;
      }
      text += parts[i];
    }
    return text + "]";
  }

  const Tensor& tensor_;
  const PrintOptions& options_;
  std::vector<int64_t> edges_;
  std::vector<Scalar> values_;
  size_t next_ = 0;
};

bool needs_dtype(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype == default_dtype()) return false;
  if (dtype == complex_type_of(default_dtype()) && tensor.numel() > 0) return false;
  return tensor.numel() == 0 || (dtype != DType::int64 && dtype != DType::boolean);
}

std::string dtype_text(const Tensor& tensor) {
  return "dtype=ebb." + std::string(name_of(tensor.dtype()));
}

/// A tuple, as Python writes it.
std::string size_text(const Tensor& tensor) {
  std::string text = "size=(";
  for (int dim = 0; dim < tensor.ndim(); ++dim) {
    text += (dim > 0 ? ", " : "") + std::to_string(tensor.size(dim));
  }
  return text + (tensor.ndim() == 1 ? ",)" : ")");
}

/// Where a tensor's gradient goes, and the tensor's name.
void add_history(const Tensor& tensor, std::vector<std::string>& notes) {
  if (const autograd::Node* const made_by = autograd::grad_fn(tensor)) {
    notes.push_back("grad_fn=<" + std::string(made_by->name()) + '>');
  } else if (tensor.requires_grad()) {
    notes.emplace_back("requires_grad=True");
  }
  const std::string name = name_of(tensor);
  if (!name.empty()) notes.push_back("name=" + in_quotes(name));
}

std::vector<std::string> notes_of(const Tensor& tensor) {
  std::vector<std::string> notes;
  if (tensor.device().type != DeviceType::cpu)
    notes.push_back("device='" + to_string(tensor.device()) + '\'');
  if (is_meta(tensor) || (tensor.numel() == 0 && tensor.ndim() != 1)) {
    notes.push_back(size_text(tensor));
  }
  if (needs_dtype(tensor)) notes.push_back(dtype_text(tensor));
  add_history(tensor, notes);
  std::vector<autograd::ForwardLevelPtr> levels;
  autograd::add_levels(tensor, levels);
  if (!levels.empty()) {
    notes.push_back("tangent=" + to_text(autograd::tangent_of(tensor, *levels.back())));
  }
  return notes;
}

/// "tensor(", the parts, each on the line of the one before it where that has room, and ")".
std::string joined(std::string text, const std::vector<std::string>& notes, size_t line_width) {
  size_t column = text.size() - (text.rfind('\n') + 1);
  for (const std::string& note : notes) {
    const bool has_room = column + note.size() + 2 <= line_width;
    text += has_room ? ", " : ",\n" + std::string(kIndent, ' ');
    column = (has_room ? column + 2 : kIndent) + note.size();
    text += note;
  }
  return text + ')';
}

/// `text` with its further lines moved in, below "tensor(".
std::string indented(const std::string& text) {
  std::string moved;
  for (const char letter : text) {
    moved += letter;
    if (letter == '\n') moved.append(kIndent, ' ');
  }
  return moved;
}

/// The parts of a sparse tensor; of an opaque one only what is known.
std::string sparse_text(const Tensor& tensor) {
  const Tensor plain = detach(tensor);
  std::vector<std::string> lines;
  const auto add = [&](const char* name, const Tensor& part) {
    lines.push_back(name + ("=" + to_text(part)));
  };
  std::string end = size_text(tensor);
  if (tensor.layout() == Layout::opaque) {
    end += ", " + dtype_text(tensor);
  } else {
    if (tensor.layout() == Layout::sparse_csr) {
      add("crow_indices", crow_indices(plain));
      add("col_indices", col_indices(plain));
    } else {
      add(tensor.layout() == Layout::sparse_coo ? "indices" : "rows", stored_indices(plain));
    }
    const Tensor values = stored_values(plain);
    add("values", values);
    end += ", nnz=" + std::to_string(values.size(0));
  }
  std::vector<std::string> notes = {"layout=ebb." + std::string(name_of(tensor.layout()))};
  add_history(tensor, notes);
  for (const std::string& note : notes) end += ", " + note;
  lines.push_back(end);
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : ",\n") + line;
  return "tensor(" + indented(text) + ')';
}

}  // namespace

PrintOptions print_options() {
  const std::scoped_lock lock(options_mutex);
  return current_options;
}

void set_print_options(const PrintOptions& options) {
  const auto check = [](bool is_good, const char* name, int64_t least, int64_t got) {
    if (!is_good) {
      throw ValueError(str("set_printoptions: ", name, " must be at least ", least, ", got ", got));
    }
  };
  check(options.precision >= 0, "precision", 0, options.precision);
  check(options.threshold >= 0, "threshold", 0, options.threshold);
  check(options.edge_items >= 0, "edgeitems", 0, options.edge_items);
  check(options.line_width >= 1, "linewidth", 1, 0);
  if (options.precision > PrintOptions::kMostDigits) {
    throw ValueError(str("set_printoptions: precision must be at most ", PrintOptions::kMostDigits,
                         ", got ", options.precision));
  }
  const std::scoped_lock lock(options_mutex);
  current_options = options;
}

std::string to_text(const Tensor& tensor) {
  if (!tensor.defined()) return "tensor(undefined)";
  const NoGradGuard no_grad;
  if (tensor.layout() != Layout::strided) return sparse_text(tensor);
  const PrintOptions options = print_options();
  if (is_meta(tensor)) return joined("tensor(...", notes_of(tensor), options.line_width);
  const Tensor host = to_device(detach(tensor), Device{});
  return joined("tensor(" + (host.numel() == 0 ? "[]" : Body(host, options).text()),
                notes_of(tensor), options.line_width);
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_text(tensor); }

}  // namespace ebb

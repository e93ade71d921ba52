// ebb/graph/node_values.cpp -- saved tensors without holding them, attributes as JSON.
#include "ebb/graph/node_values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <complex>

#include "ebb/autograd/history/packed_value.h"
#include "ebb/autograd/history/saved_tensor.h"
#include "ebb/core/tensor/sparse.h"

namespace ebb::graph {

using autograd::Node;
using autograd::SavedAttribute;
using autograd::SavedTensor;

/// Packed values are held until the node's lock is open again: what is asked of them may take long.
class SavedCollector final : public autograd::SavedVisitor {
 public:
  SavedCollector(SavedTable& table, uint32_t node) : table_(table), node_(node) {}

  void visit(const char* name, SavedTensor& saved) override {
    if (!saved.defined()) return;
    const TensorImpl& impl = *saved.impl();
    SavedRow row = {.bytes = 0,
                    .node = node_,
                    .name = table_.texts_.number_of_lasting(name),
                    .shape = table_.shapes_.number_of(impl.shape()),
                    .version = saved.version(),
                    .storage = kNone,
                    .dtype = impl.dtype,
                    .device = revealed(impl.device),
                    .is_packed = saved.is_packed()};
    if (row.is_packed) {
      packed_.emplace_back(table_.rows.size(), Tensor::share(const_cast<TensorImpl*>(&impl)));
    } else {
      row.bytes = stored_bytes(Tensor::share(const_cast<TensorImpl*>(&impl)));
      row.storage = table_.storage_of(impl);
    }
    table_.rows.push_back(row);
  }

  void look_into_packed() {
    for (const auto& [index, husk] : packed_) {
      const auto& packed = autograd::PackedValue::behind(std::as_const(*husk.impl()));
      SavedRow& row = table_.rows[index];
      row.bytes = 0;
      row.version = packed.version();
      for (const Tensor& kept : packed.kept()) {
        row.bytes += stored_bytes(kept);
        const uint32_t storage = table_.storage_of(*kept.impl());
        if (row.storage == kNone) row.storage = storage;
      }
      if (row.storage != kNone) continue;
      row.storage = static_cast<uint32_t>(table_.storages.size());
      table_.storages.push_back(0);
    }
  }

 private:
  SavedTable& table_;
  uint32_t node_;
  std::vector<std::pair<size_t, Tensor>> packed_;
};

void SavedTable::add(Node& node, uint32_t number) {
  SavedCollector collector(*this, number);
  {
    const autograd::SavedLock lock(node);
    node.visit_saved(collector);
  }
  collector.look_into_packed();
}

uint32_t SavedTable::storage_of(const TensorImpl& impl) {
  const auto fresh = static_cast<uint32_t>(storages.size());
  const uint32_t number = storage_numbers_.at(impl.storage, fresh);
  if (number == fresh) storages.push_back(impl.storage->bytes());
  return number;
}

namespace {

void append_escaped(std::string& out, unsigned char letter) {
  constexpr const char* kDigits = "0123456789abcdef";
  switch (letter) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  if (letter >= 0x20) {
    out += static_cast<char>(letter);
  } else {
    out += "\\u00";
    out += kDigits[letter >> 4];
    out += kDigits[letter & 15];
  }
}

/// Appends a value as JSON.
struct ValueWriter {
  std::string& out;

  void operator()(std::monostate) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(int64_t value) const {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    out.append(digits.begin(), end);
  }
  void operator()(double value) const {
    if (std::isnan(value)) return append_json(out, "nan");
    if (std::isinf(value)) return append_json(out, value > 0 ? "inf" : "-inf");
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    const std::string_view text(digits.begin(), static_cast<size_t>(end - digits.begin()));
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
  }
  void operator()(const std::string& value) const { append_json(out, value); }
  void operator()(const std::vector<int64_t>& values) const {
    out += '[';
    for (size_t index = 0; index < values.size(); ++index) {
      if (index > 0) out += ',';
      (*this)(values[index]);
    }
    out += ']';
  }
  void operator()(DType value) const { append_json(out, name_of(value)); }
  void operator()(Device value) const { append_json(out, to_string(value)); }
  void operator()(const Scalar& value) const {
    switch (value.kind()) {
      case Kind::boolean: return (*this)(value.to_int() != 0);
      case Kind::integer: return (*this)(value.to_int());
      case Kind::floating: return (*this)(value.to_double());
      case Kind::complex: break;
    }
    const std::complex<double> number = value.to_complex();
    std::string text;
    const ValueWriter part{text};
    part(number.real());
    if (!std::signbit(number.imag())) text += '+';
    part(number.imag());
    text += 'j';
    append_json(out, text);
  }
};

class AttributeCollector final : public autograd::AttributeVisitor {
 public:
  AttributeCollector(std::string& text, std::vector<std::pair<const char*, size_t>>& ends)
      : text_(text), ends_(ends) {}
  void visit(const char* name, SavedAttribute value) override {
    text_ += name;
    text_ += '=';
    const size_t begin = text_.size();
    std::visit(ValueWriter{text_}, value);
    ends_.emplace_back(name, begin);
    text_ += '\n';
  }

 private:
  std::string& text_;
  std::vector<std::pair<const char*, size_t>>& ends_;  // each name, and where its value begins
};

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (const char letter : text) append_escaped(out, static_cast<unsigned char>(letter));
  out += '"';
}

uint32_t AttributeTable::number_of(const Node& node) {
  text_.clear();
  values_.clear();
  AttributeCollector collector(text_, values_);
  node.visit_attributes(collector);
  if (values_.empty()) return kNone;
  const uint32_t number = known_.number_of(text_);
  if (number < sets.size()) return number;
  std::vector<Attribute> set;
  for (const auto& [name, begin] : values_) {
    set.push_back({texts_.number_of(name), text_.substr(begin, text_.find('\n', begin) - begin)});
  }
  sets.push_back(std::move(set));
  return number;
}

}  // namespace ebb::graph

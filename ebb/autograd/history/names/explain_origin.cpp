// ebb/autograd/history/names/explain_origin.cpp -- origins in words, as far as somebody noted more.
#include "ebb/autograd/history/cut_observer.h"
#include "ebb/autograd/history/origin.h"
#include "ebb/core/base/error.h"

namespace ebb::autograd {

LocationId place_of(Origin origin) {
  return cut_observer == nullptr ? origin & 0x3fffffffu : cut_observer->place_of(origin);
}

std::string explain_origin(const Tensor& tensor) {
  const Origin origin = origin_of(tensor);
  const std::string place = line_of(place_of(origin));
  switch (static_cast<Cut>(origin >> 30)) {
    case Cut::no_grad: return str("its history was cut under no_grad at ", place);
    case Cut::detached: return str("its history was cut by detach() at ", place);
    case Cut::not_differentiable: return str("its dtype has no gradient since ", place);
    case Cut::never_asked: break;
  }
  if (tensor.defined() && !is_differentiable(tensor.dtype())) {
    return str("its dtype ", tensor.dtype(), " has no gradient");
  }
  return "nothing it was computed from requires a gradient";
}

}  // namespace ebb::autograd

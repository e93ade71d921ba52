// ebb/autograd/history/cut_observer.cpp -- the one observer.
#include "ebb/autograd/history/cut_observer.h"

namespace ebb::autograd {

CutObserver* cut_observer = nullptr;
std::atomic<bool> any_leaf_noted{false};

}  // namespace ebb::autograd

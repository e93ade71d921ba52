// ebb/autograd/engine/run.h -- one run over a graph. See run.cpp.
#pragma once

#include "ebb/autograd/engine/run_request.h"
#include "ebb/autograd/engine/run_state.h"

namespace ebb::autograd {

/// Runs the graph from the roots in `buffers`.
void run_graph(const RunRequest& request, RunBuffers& buffers);

}  // namespace ebb::autograd

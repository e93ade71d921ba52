// benchmarks/count/count_main.cpp -- ebb_count PATH N: runs one hot path N times.
//
// valgrind counts the instructions of a whole process, so a path's cost per call is the difference
// of two runs with different N, divided by the difference; start and end cancel out. Paths that
// cannot do without another one (backward needs a graph) come in pairs, to be subtracted again:
// tools/bench/cpp_rows.py says which. `ebb_count deep N` times a long chain instead and prints
// JSON; run it under `ulimit -s 512` to see that no stack is needed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

#include "benchmarks/bench_support.h"
#include "ebb/autograd/engine/engine.h"
#include "ebb/autograd/ops/add.h"
#include "ebb/autograd/ops/select.h"
#include "ebb/core/base/location.h"
#include "ebb/core/runtime/parallel.h"

namespace ebb::bench {
namespace {

void add_not_recorded(int64_t count) {
  const Tensor x = filled(kSmall, 1.0), y = filled(kSmall, 2.0);
  for (int64_t i = 0; i < count; ++i) const Tensor z = x + y;
}

void add_recorded(int64_t count) {
  const Tensor x = leaf(kSmall, 1.0), y = leaf(kSmall, 2.0);
  for (int64_t i = 0; i < count; ++i) const Tensor z = x + y;
}

void add_location_told(int64_t count) {
  const LocationScope told(intern_location(1, 0, false));
  add_recorded(count);
}

void mul_recorded(int64_t count) {
  const Tensor x = leaf(kSmall, 1.0), y = leaf(kSmall, 2.0);
  for (int64_t i = 0; i < count; ++i) const Tensor z = x * y;
}

// The end of the process takes the graph along: without the cost of destroying it.
void chain_left_alive(int64_t count) {
  const Tensor x = leaf(kFlat64, 1.0), c = filled(kFlat64, 0.0);
  Tensor end = chain_of_adds(x, c, count);
  end.leak();
}

void chain_destroyed(int64_t count) {
  const Tensor x = leaf(kFlat64, 1.0), c = filled(kFlat64, 0.0);
  const Tensor end = chain_of_adds(x, c, count);
}

void chain_run_and_destroyed(int64_t count) {
  const Tensor x = leaf(kFlat64, 1.0), c = filled(kFlat64, 0.0);
  const Tensor end = chain_of_adds(x, c, count);
  backward(end, filled(kFlat64, 3.0));
  check(first_of(grad_of(x)) == 3.0f, "backward over a chain");
}

void one_node(int64_t count) {
  const Tensor x = leaf(kOne, 1.0), c = filled(kOne, 2.0);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor z = x + c;
    set_grad(x, {});
  }
}

void one_node_run(int64_t count) {
  const Tensor x = leaf(kOne, 1.0), c = filled(kOne, 2.0);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor z = x + c;
    backward(z);
    set_grad(x, {});
  }
}

// In-place writes of memory of which nothing is saved: all of it, its rows, its columns.
void write_whole(int64_t count) {
  const Tensor x = filled(kSmall, 1.0), y = filled(kSmall, 2.0);
  for (int64_t i = 0; i < count; ++i) add_(x, y);
}

void write_lines(int64_t count, int64_t dim) {
  const Tensor x = filled(kSmall, 1.0), y = filled(Shape{8}, 2.0);
  std::vector<Tensor> lines;
  for (int64_t line = 0; line < 8; ++line) lines.push_back(select(x, dim, line));
  for (int64_t i = 0; i < count; ++i) add_(lines[static_cast<size_t>(i % 8)], y);
}

void write_rows(int64_t count) { write_lines(count, 0); }
void write_columns(int64_t count) { write_lines(count, 1); }

// The first write of new memory, which makes its log.
void write_new(int64_t count) {
  const Tensor x = filled(kSmall, 1.0), y = filled(kSmall, 2.0);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor z = x + y;
    add_(z, y);
  }
}

void deep(int64_t count) {
  const Tensor x = leaf(kFlat64, 1.0), c = filled(kFlat64, 0.0), seed = filled(kFlat64, 3.0);
  double start = thread_seconds();
  Tensor end = chain_of_adds(x, c, count);
  const double build = seconds_since(start);
  start = thread_seconds();
  backward(end, seed);
  const double run = seconds_since(start);
  start = thread_seconds();
  end = Tensor();
  const double destroy = seconds_since(start);
  check(first_of(grad_of(x)) == 3.0f, "backward over a chain");
  std::printf("{\"build\": %.6f, \"backward\": %.6f, \"destroy\": %.6f}\n", build, run, destroy);
}

struct Path {
  const char* name;
  void (*run)(int64_t count);
};

constexpr Path kPaths[] = {
    {"add_not_recorded", add_not_recorded},
    {"add_recorded", add_recorded},
    {"add_location_told", add_location_told},
    {"mul_recorded", mul_recorded},
    {"chain_left_alive", chain_left_alive},
    {"chain_destroyed", chain_destroyed},
    {"chain_run_and_destroyed", chain_run_and_destroyed},
    {"one_node", one_node},
    {"one_node_run", one_node_run},
    {"write_whole", write_whole},
    {"write_rows", write_rows},
    {"write_columns", write_columns},
    {"write_new", write_new},
    {"deep", deep},
};

int usage() {
  std::fprintf(stderr, "usage: ebb_count PATH N, with PATH among");
  for (const Path& path : kPaths) std::fprintf(stderr, " %s", path.name);
  std::fprintf(stderr, "\n");
  return 2;
}

int run(int argc, char** argv) {
  if (argc != 3) return usage();
  char* end = nullptr;
  const long long count = std::strtoll(argv[2], &end, 10);
  if (*end != '\0' || count < 1) return usage();
  set_num_threads(1);
  for (const Path& path : kPaths) {
    if (std::strcmp(path.name, argv[1]) != 0) continue;
    path.run(count);
    return 0;
  }
  return usage();
}

}  // namespace
}  // namespace ebb::bench

int main(int argc, char** argv) {
  try {
    return ebb::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ebb_count: %s\n", error.what());
    return 1;
  }
}

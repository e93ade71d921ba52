// tests/stress/threads_test.cpp -- 64 threads with a thousand runs each.
#include "tests/autograd/thread_stress.h"

namespace ebb {
namespace {

constexpr int kThreads = 64;
constexpr int kRuns = 1000;

TEST(Threads, RunGraphsOfTheirOwn) { run_disjoint_graphs(kThreads, kRuns); }
TEST(Threads, RunGraphsOfOneLeaf) { run_graphs_of_one_leaf(kThreads, kRuns); }
TEST(Threads, RunOneGraph) { run_shared_graph(kThreads, kRuns); }
TEST(Threads, RunGraphsThatMeet) { run_shared_trunk(kThreads, kRuns); }

}  // namespace
}  // namespace ebb

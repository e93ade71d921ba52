// tests/graph/json_test.cpp -- the data format, read back by a JSON parser.
#include "ebb/graph/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ebb/autograd/ops/clamp.h"
#include "ebb/autograd/ops/exp.h"
#include "ebb/autograd/ops/reshape.h"
#include "ebb/autograd/ops/sum.h"
#include "tests/autograd/graph_support.h"

namespace ebb::graph {
namespace {

using nlohmann::json;

TEST(GraphJson, HoldsTheGraphOfTheManual) {
  const Tensor x = leaf({1, 2, 3});
  const std::vector<std::pair<std::string, Tensor>> names = {{"x", x}};
  const json data = json::parse(to_json(take_snapshot(sum(x * x), {.names = names})));
  EXPECT_EQ(data["format"], "ebb.graph");
  EXPECT_EQ(data["version"], 1);
  EXPECT_EQ(data["nodes"]["kind"], json({0, 0, 1}));
  EXPECT_EQ(data["edges"]["from"], json({0, 1, 1}));
  EXPECT_EQ(data["edges"]["to"], json({1, 2, 2}));
  EXPECT_EQ(data["strings"][data["leaves"]["name"][0].get<size_t>()], "x");
  EXPECT_EQ(data["leaves"]["bytes"], json({12}));
  EXPECT_EQ(data["shapes"][data["outputs"]["shape"][2].get<size_t>()], json({3}));
}

TEST(GraphJson, HasColumnsOfOneLength) {
  const Tensor x = leaf({1, 2, 3, 4});
  const json data = json::parse(to_json(take_snapshot(sum(reshape(exp(x), Shape{2, 2})))));
  const char* const tables[] = {"modules", "locations", "outputs", "edges",
                                "leaves",  "saved",     "views",   "roots"};
  for (const char* table : tables) {
    for (const auto& column : data[table]) {
      EXPECT_EQ(column.size(), data[table].front().size()) << table;
    }
  }
}

TEST(GraphJson, NamesTheLineOfAnOp) {
  const json data = json::parse(to_json(take_snapshot(exp(leaf({1})))));
  const auto row = data["nodes"]["location"][0].get<int>();
  ASSERT_GE(row, 0);
  EXPECT_EQ(data["nodes"]["location"][1], -1);
}

/// The id of the first instruction of a function.
LocationId place_of(void (*function)()) {
  return intern_location(reinterpret_cast<uintptr_t>(function) + 1, 0, false);
}
void caller() { static_cast<void>(leaf({1})); }
void callee() { static_cast<void>(leaf({2})); }

TEST(GraphJson, HoldsStacksWhereTheyWereRecorded) {
  Tensor x = leaf({1});
  {
    const LocationScope place(intern_stack(place_of(callee), intern_stack(place_of(caller), 0)));
    x = exp(x);
  }
  const json data = json::parse(to_json(take_snapshot(sum(x))));
  EXPECT_FALSE(data["nodes"]["stacks"].contains("0"));  // of the sum, only its line is known
  const json stack = data["nodes"]["stacks"]["1"];
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0], data["nodes"]["location"][1]);
  EXPECT_NE(stack[1], stack[0]);
}

TEST(GraphJson, HoldsAllThatASnapshotKnows) {
  const Tensor x = leaf({1, 2}), y = exp(x);
  const std::vector<std::pair<std::string, Tensor>> names = {{"y", y}};
  const Tensor loss = sum(y);
  const Snapshot graph = take_snapshot(loss, {.names = names});
  json data = json::parse(to_json(graph));
  EXPECT_EQ(data["strings"][data["outputs"]["name"][1].get<size_t>()], "y");
  EXPECT_EQ(data["outputs"]["name"][0], -1);
  EXPECT_EQ(data["strings"][data["saved"]["device"][0].get<size_t>()], "cpu");
  EXPECT_EQ(data["saved"]["packed"], json::array({0}));
  EXPECT_EQ(data["nodes"]["freed"], json::array({0, 0, 0}));
  backward(loss);
  data = json::parse(to_json(take_snapshot(loss)));
  EXPECT_EQ(data["nodes"]["freed"], json::array({0, 1, 0}));
}

TEST(GraphJson, SpellsNumbersThatJsonLacks) {
  const Tensor x = leaf({1, 2});
  const double infinite = std::numeric_limits<double>::infinity();
  const json data = json::parse(to_json(take_snapshot(clamp(x, -infinite, infinite))));
  const json attributes = data["nodes"]["attributes"]["0"];
  EXPECT_EQ(attributes["min"], "-inf");
  EXPECT_EQ(attributes["max"], "inf");
}

TEST(GraphJson, EscapesNames) {
  const Tensor x = leaf({1});
  const std::string odd = "a \"b\"\\\n\t\x01 </script>";
  const std::vector<std::pair<std::string, Tensor>> names = {{odd, x}};
  const json data = json::parse(to_json(take_snapshot(exp(x), {.names = names})));
  EXPECT_EQ(data["strings"][data["leaves"]["name"][0].get<size_t>()], odd);
}

}  // namespace
}  // namespace ebb::graph

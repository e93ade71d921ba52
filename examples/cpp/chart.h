// examples/cpp/chart.h -- writes line charts as SVG.
#pragma once

#include <string>
#include <vector>

/// A named line of y values at x = 1, 2, ...
struct Curve {
  std::string name;
  std::vector<double> values;
};

/// What is written around the curves.
struct ChartText {
  std::string title;
  std::string x_label;
  std::string y_label;
};

/// Writes a chart of `curves` to `path`. Throws std::runtime_error if that fails.
void write_line_chart(const std::string& path, const ChartText& text,
                      const std::vector<Curve>& curves);

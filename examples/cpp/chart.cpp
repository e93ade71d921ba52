// examples/cpp/chart.cpp -- lays out axes, round ticks and curves.
#include "examples/cpp/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace {

constexpr int kWidth = 640, kHeight = 400;
constexpr int kLeft = 64, kRight = 24, kTop = 48, kBottom = 56;
constexpr const char* kColours[] = {"#1f5fa8", "#d1602a", "#3b8f4a", "#7a4fa0"};
constexpr const char* kText = "font-family='Helvetica, Arial, sans-serif' fill='#333333'";

__attribute__((format(printf, 1, 2))) std::string print(const char* format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

/// About six round numbers from 0 to `high` or a little more.
std::vector<double> ticks(double high) {
  const double rough = std::max(high, 1e-12) / 6;
  const double unit = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * unit;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (unit * factor >= rough) step = unit * factor;
  }
  std::vector<double> marks;
  const int last = static_cast<int>(std::ceil(high / step - 1e-9));
  for (int mark = 0; mark <= last; ++mark) marks.push_back(step * mark);
  return marks;
}

/// Where values lie on the page.
struct Scale {
  double x_max;
  double y_max;
  double x(double value) const { return kLeft + (kWidth - kLeft - kRight) * value / x_max; }
  double y(double value) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * value / y_max;
  }
};

void write_axes(std::ostream& out, const Scale& scale, const std::vector<double>& y_ticks) {
  for (const double tick : y_ticks) {
    out << print("<path d='M%d %.1fH%d' stroke='%s'/>\n", kLeft, scale.y(tick), kWidth - kRight,
                 tick == 0 ? "#333333" : "#dddddd")
        << print("<text x='%d' y='%.1f' font-size='12' text-anchor='end' %s>%g</text>\n", kLeft - 8,
                 scale.y(tick) + 4, kText, tick);
  }
  for (const double tick : ticks(scale.x_max)) {
    if (tick > scale.x_max) continue;
    out << print("<path d='M%.1f %.1fv5' stroke='#333333'/>\n", scale.x(tick), scale.y(0))
        << print("<text x='%.1f' y='%.1f' font-size='12' text-anchor='middle' %s>%g</text>\n",
                 scale.x(tick), scale.y(0) + 20, kText, tick);
  }
}

void write_labels(std::ostream& out, const ChartText& text) {
  out << print("<text x='%d' y='28' font-size='17' %s>", kLeft, kText) << text.title << "</text>\n"
      << print("<text x='%d' y='%d' font-size='13' text-anchor='middle' %s>",
               (kLeft + kWidth - kRight) / 2, kHeight - 14, kText)
      << text.x_label << "</text>\n"
      << print("<text transform='translate(18 %d) rotate(-90)' font-size='13' ",
               (kTop + kHeight - kBottom) / 2)
      << print("text-anchor='middle' %s>", kText) << text.y_label << "</text>\n";
}

void write_curve(std::ostream& out, const Scale& scale, const Curve& curve, size_t number) {
  const char* const colour = kColours[number % std::size(kColours)];
  out << "<polyline points='";
  for (size_t i = 0; i < curve.values.size(); ++i) {
    out << print("%.1f,%.1f ", scale.x(static_cast<double>(i + 1)), scale.y(curve.values[i]));
  }
  const int x = kWidth - kRight - 150;
  const int y = kTop + 16 + 20 * static_cast<int>(number);
  out << print("' fill='none' stroke='%s' stroke-width='2' stroke-linejoin='round'/>\n", colour)
      << print("<path d='M%d %dh24' stroke='%s' stroke-width='2'/>\n", x, y, colour)
      << print("<text x='%d' y='%d' font-size='13' %s>", x + 32, y + 4, kText) << curve.name
      << "</text>\n";
}

}  // namespace

void write_line_chart(const std::string& path, const ChartText& text,
                      const std::vector<Curve>& curves) {
  size_t length = 1;
  double highest = 0.0;
  for (const Curve& curve : curves) {
    length = std::max(length, curve.values.size());
    for (const double value : curve.values) highest = std::max(highest, value);
  }
  const std::vector<double> y_ticks = ticks(highest);
  const Scale scale{static_cast<double>(length), y_ticks.back()};
  std::ofstream out(path);
  out << print("<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d'>\n", kWidth, kHeight)
      << print("<rect width='%d' height='%d' fill='#ffffff'/>\n", kWidth, kHeight);
  write_labels(out, text);
  write_axes(out, scale, y_ticks);
  for (size_t i = 0; i < curves.size(); ++i) write_curve(out, scale, curves[i], i);
  out << "</svg>\n";
  if (!out.flush()) throw std::runtime_error("chart: needs a writable file, got '" + path + "'");
}

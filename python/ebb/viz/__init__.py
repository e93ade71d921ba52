# python/ebb/viz/__init__.py -- pictures, written as files that any browser shows.
"""``write_line_chart`` draws curves, such as a loss over epochs, as SVG."""

from ebb.viz.charts import write_line_chart

__all__ = ["write_line_chart"]

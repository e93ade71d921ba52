# python/ebb/viz/__init__.py -- pictures, written as files that any browser shows.
"""``write_line_chart`` draws curves, such as a loss over epochs, as SVG.

``write_html`` writes a backward graph as one interactive page, ``to_html`` returns the page,
``read_html`` the data in it, and ``show`` shows it in a notebook.
"""

from ebb._base import naming as _naming
from ebb.viz.charts import write_line_chart
from ebb.viz.html import read_html, show, to_html, write_html

__all__ = ["read_html", "show", "to_html", "write_html", "write_line_chart"]

for _name in ("", ".charts", ".html"):
    _naming.name_module(__name__ + _name)

# python/ebb/version.py -- the version, and which accelerators the library was built for.
"""``ebb.version``.

>>> ebb.version.cuda is None
True
"""

from ebb import __version__ as __version__

cuda = None
hip = None
xpu = None
rocm = None
debug = False
git_version = "unknown"

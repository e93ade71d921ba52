# satellites/torch/compare/__init__.py -- names, arguments and defaults beside PyTorch's.
"""What ebb lacks beside PyTorch's public signatures, as a page."""

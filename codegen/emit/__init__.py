# codegen/emit/__init__.py -- one emitter per layer: what the generator writes.
"""Each reads the model, never the YAML, and gives texts by path; statements stand in templates."""

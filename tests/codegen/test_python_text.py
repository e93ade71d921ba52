# tests/codegen/test_python_text.py -- how parameters of each type are taken out of a Python call.
from codegen.emit.autograd import emit as emit_autograd
from codegen.emit.python import emit as emit_python, emit_common
from tests.codegen.little_table import family_of

TABLE = """\
- op: >-
    blur(Tensor input, str mode='none', float? width=0.5, str? edge=None, bool? on=None)
    -> Tensor out
  doc: A test.
  impl: true
  amp: none
  grad: {input: "blur(grad_out, mode, width, edge, on)"}
  jvp: {input: "blur(tangent, mode, width, edge, on)"}
  test: {none: a test}
"""


def test_texts_and_optional_numbers_convert_and_keep_their_defaults(family):
    text = emit_python(family)["python/ops_little.cpp"]
    assert '{"mode", ArgKind::text, kHasDefault},' in text
    assert (
        "const std::string_view mode = arguments.given(1) ? arguments.text(1) : "
        'std::string_view("none");' in text
    )
    assert (
        "const std::optional<double> width = arguments.object(2) == nullptr ? "
        "std::optional<double>(0.5) : arguments.optional_floating(2);" in text
    )
    assert "const std::optional<std::string_view> edge = arguments.optional_text(3);" in text
    assert "const std::optional<bool> on = arguments.optional_boolean(4);" in text


def test_nodes_own_their_texts(family):
    text = emit_autograd(family)["ebb/autograd/ops/little.cpp"]
    assert "  std::string mode_{};" in text
    assert "  std::optional<std::string> edge_{};" in text
    assert "node->mode_ = mode;" in text


def test_the_stub_names_builtins_where_tensor_has_methods_of_that_name(family):
    stub = emit_common([family])["python/_C.pyi"]
    assert (
        "\ndef blur(input: Tensor, mode: str = 'none', width: builtins.float | None = 0.5, "
        "edge: str | None = None, on: builtins.bool | None = None) -> Tensor: ..."
    ) in stub


def test_types_of_nodes_are_named_without_their_overload(tmp_path):
    rows = TABLE + TABLE.replace("blur(Tensor input", "blur.Scalar(Tensor input")
    text = emit_common([family_of(tmp_path, rows)])["python/op_tables.cpp"]
    assert text.count("Backward0") == 1
    assert '{"BlurScalarBackward", "BlurBackward0"},' in text

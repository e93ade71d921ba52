# tests/python/amp/autocast_page.py -- writes docs/autocast_ops.md: which dtype the result of
# an op has under autocast, found by calling it, beside what PyTorch documents.
#
# Run `python -m tests.python.amp.autocast_page` when an op joins a list; a test says so if the page
# is old. PyTorch's lists are those of its "Autocast Op Reference", as facts: op, list, device.
"""The page of ops under autocast."""

from __future__ import annotations

from pathlib import Path

import ebb
from tests.python.ops.op_rows import Row, call, load_rows, make_arguments

PAGE = Path(__file__).parents[3] / "docs/autocast_ops.md"

CUDA = {
    "lower": "matmul addbmm addmm addmv addr baddbmm bmm linalg_multi_dot conv1d conv2d conv3d "
    "conv_transpose1d conv_transpose2d conv_transpose3d linear mm mv prelu",
    "float32": "pow acos asin binary_cross_entropy_with_logits cosh cosine_embedding_loss cdist "
    "cosine_similarity cross_entropy cumprod cumsum dist erfinv exp expm1 group_norm "
    "hinge_embedding_loss kl_div l1_loss layer_norm log log_softmax log10 log1p log2 "
    "margin_ranking_loss mse_loss multilabel_margin_loss multi_margin_loss nll_loss norm normalize "
    "pdist poisson_nll_loss prod reciprocal rsqrt sinh smooth_l1_loss soft_margin_loss softmax "
    "softmin softplus sum renorm tan triplet_margin_loss",
    "widest": "addcdiv addcmul atan2 bilinear cross dot grid_sample index_put scatter_add "
    "tensordot",
}
CPU = {
    "lower": "conv1d conv2d conv3d bmm mm linalg_vecdot baddbmm addmm addbmm linear matmul "
    "convolution conv_transpose1d conv_transpose2d conv_transpose3d prelu "
    "scaled_dot_product_attention",
    "float32": "avg_pool3d binary_cross_entropy grid_sample polar prod quantile nanquantile stft "
    "cdist trace view_as_complex cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr "
    "pinverse max_pool3d max_unpool2d max_unpool3d adaptive_avg_pool3d reflection_pad1d "
    "reflection_pad2d replication_pad1d replication_pad2d replication_pad3d mse_loss "
    "cosine_embedding_loss nll_loss hinge_embedding_loss poisson_nll_loss cross_entropy l1_loss "
    "huber_loss margin_ranking_loss soft_margin_loss triplet_margin_loss multi_margin_loss "
    "ctc_loss kl_div multilabel_margin_loss binary_cross_entropy_with_logits fft_fft fft_ifft "
    "fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2 fft_rfftn "
    "fft_irfftn fft_hfft fft_ihfft linalg_cond linalg_matrix_rank linalg_solve linalg_cholesky "
    "linalg_svdvals linalg_eigvals linalg_eigvalsh linalg_inv linalg_householder_product "
    "linalg_tensorinv linalg_tensorsolve geqrf qr svd triangular_solve fractional_max_pool2d "
    "fractional_max_pool3d adaptive_max_pool3d linalg_qr linalg_cholesky_ex linalg_svd linalg_eig "
    "linalg_eigh linalg_lstsq linalg_inv_ex",
    "widest": "cat stack index_copy",
}

HEAD = """# Ops under autocast

Which dtype the result of an op of the [table](../ops/README.md) has inside `ebb.autocast("cpu")`
(bfloat16, level O1), found by calling it with operands of float32 and of bfloat16, beside the lists
that PyTorch's manual has for CUDA and for the CPU (an empty cell: not listed, so it runs in what it
is given). The second column is the op's [list](amp.md); an op without one is made of others, or
never casts. Here are the ops that ebb has on `lower` or `float32`, or PyTorch on any list; all
others compute in what they are given, the widest of it where operands differ. `baddbmm`, `addmm`
and `addbmm` make their product in bfloat16, and add it to a float32 operand in float32.

Written by `python -m tests.python.amp.autocast_page`.

| op | list | of float32 | of bfloat16 | PyTorch on CUDA | PyTorch on the CPU |
| --- | --- | --- | --- | --- | --- |
"""
_KINDS = {
    ("bfloat16", "bfloat16"): "lower",
    ("float32", "float32"): "float32",
    ("float32", "bfloat16"): "as given",
}


def by_name(lists: dict[str, str]) -> dict[str, str]:
    """The list of each name."""
    return {name: key for key, names in lists.items() for name in names.split()}


def rows() -> list[Row]:
    """The first row of each op that has inputs to try, by name."""
    found: dict[str, Row] = {}
    for row in load_rows():
        if "inputs" in row.test and not row.is_inplace:
            found.setdefault(row.name, row)
    return [found[name] for name in sorted(found)]


def result_dtype(row: Row, dtype: str) -> str:
    """The dtype of the first floating result of a call under autocast; "" if there is none."""
    for case in row.cases():
        arguments = make_arguments(row, case, dtype)
        try:
            with ebb.autocast("cpu"):
                results = call(row, arguments)
        except ebb.DTypeError:
            return "refused"
        for one in results if isinstance(results, (tuple, list)) else [results]:
            if one.dtype.is_floating_point and not one.dtype.is_complex:
                return str(one.dtype).removeprefix("ebb.")
    return ""


def page() -> str:
    """The text of the page."""
    cuda, cpu = by_name(CUDA), by_name(CPU)
    lines, differs = [], {"CUDA": [], "the CPU": []}
    for row in rows():
        names = {row.name, *row.data["aliases"]}
        listed = [next((one[name] for name in names if name in one), "") for one in (cuda, cpu)]
        own = "" if row.data["amp"] in ("none", "widest") else row.data["amp"]
        if not own and not any(listed):
            continue
        dtypes = [result_dtype(row, dtype) for dtype in ("float32", "bfloat16")]
        cells = [row.shown_name, row.data["amp"].replace("none", ""), *dtypes, *listed]
        lines.append("| " + " | ".join(cells) + " |")
        kind = _KINDS.get(tuple(dtypes), "")
        for found, theirs in zip(differs.values(), listed, strict=True):
            wanted = theirs if theirs in ("lower", "float32") else "as given"
            if kind and kind != wanted:
                found.append(row.shown_name)
    text = HEAD + "\n".join(lines) + "\n\n## Where the dtype differs from PyTorch's lists\n"
    for device, found in differs.items():
        text += f"\n- on {device}: " + ", ".join(found) + "\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())

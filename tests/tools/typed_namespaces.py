# tests/tools/typed_namespaces.py -- each namespace as users call it, for `mypy --strict`.
"""Functions that are read by mypy and never run, one for a few namespaces each."""

import ebb
from ebb import amp, autograd, data, distributions, fft, func, linalg, nn, optim, sparse, special
from ebb.nn import functional as F
from ebb.nn.attention import SDPBackend, sdpa_kernel
from ebb.nn.utils import parametrizations, rnn
from ebb.optim import lr_scheduler, swa_utils
from ebb.utils import checkpoint
from ebb.vision import datasets, models, transforms
from ebb.vision.transforms import functional as image_functions


def layers(x: ebb.Tensor) -> ebb.Tensor:
    net = nn.Sequential(
        *(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.LazyLinear(10), nn.Dropout(0.1)),
    )
    lstm = nn.LSTM(4, 5, batch_first=True)
    out, (h, c) = lstm(ebb.ones(2, 3, 4))
    with sdpa_kernel(SDPBackend.MATH):
        attended, _ = nn.MultiheadAttention(8, 2)(ebb.ones(3, 1, 8), ebb.ones(3, 1, 8), x)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 1)
    rnn.pack_sequence([ebb.ones(3), ebb.ones(2)])
    parametrizations.weight_norm(nn.Linear(2, 2))
    nn.init.kaiming_normal_(ebb.empty(2, 3))
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    loss: ebb.Tensor = F.cross_entropy(net(x), ebb.tensor([1, 2])) + nn.MSELoss()(out, attended)
    again: ebb.Tensor = checkpoint.checkpoint(encoder, x)
    return loss + F.relu(h).sum() + F.softmax(c, dim=-1).sum() + again.sum()


def train(model: nn.Module) -> float:
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    schedule = lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=10)
    mean = swa_utils.AveragedModel(model)
    samples = data.TensorDataset(ebb.ones(4, 2), ebb.ones(4))
    loader = data.DataLoader(samples, batch_size=2, shuffle=True)
    scaler = amp.GradScaler("cpu")
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with amp.autocast("cpu", dtype=ebb.bfloat16):
            loss = F.mse_loss(model(x).squeeze(-1), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        schedule.step()
        mean.update_parameters(model)
        total += loss.item()
    ebb.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "x.pt")
    model.load_state_dict(ebb.load("x.pt", map_location="cpu")["model"])
    return total


def energy(x: ebb.Tensor) -> ebb.Tensor:
    return (x * x).sum()


def derivatives(x: ebb.Tensor) -> ebb.Tensor:
    slope: ebb.Tensor = func.grad(energy)(x)
    rows: ebb.Tensor = func.vmap(func.jacrev(ebb.sin), in_dims=0)(x)
    (first,) = autograd.grad(x.sum(), [x], create_graph=True)
    with ebb.no_grad(), autograd.detect_anomaly():
        last = slope + rows.sum() + first
    return last


def numbers(x: ebb.Tensor) -> ebb.Tensor:
    normal = distributions.Normal(ebb.zeros(2), ebb.ones(2))
    category = distributions.Categorical(logits=x)
    q, r = linalg.qr(x)
    values, places = x.max(dim=1)
    (several,) = ebb.where(x > 0)[:1]
    part = sparse.mm(x.to_sparse(), x) + special.erf(x)
    found = normal.log_prob(normal.rsample()) + category.entropy() + fft.rfft(x).abs().sum()
    made = ebb.stack([q.sum(), r.sum(), values.sum(), places.float().sum(), several.sum()])
    return found + made.sum() + part.sum() + ebb.einsum("ij,jk->ik", x, x).sum()


def images() -> ebb.Tensor:
    change = transforms.Compose(
        [transforms.RandomCrop(8, padding=2), transforms.ToTensor(), transforms.Normalize(0.5, 0.5)]
    )
    image, _ = datasets.FakeData(3, transform=change)[0]
    turned: ebb.Tensor = image_functions.hflip(image)
    out: ebb.Tensor = models.resnet18(num_classes=2)(turned[None])
    return out

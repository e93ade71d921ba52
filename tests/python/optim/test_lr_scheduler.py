# tests/python/optim/test_lr_scheduler.py -- schedules: resuming, refusals, combinations, warnings.
import math
import warnings

import pytest

import ebb
from ebb import optim
from ebb.optim import lr_scheduler
from tests.python.optim import reference_optim as reference


def make_optimizer(lr=1.0, **options):
    return optim.SGD([ebb.zeros(1, requires_grad=True)], lr=lr, **options)


def rates(scheduler, epochs):
    found = []
    for _ in range(epochs):
        found.append(scheduler.optimizer.param_groups[0]["lr"])
        scheduler.optimizer.step()
        scheduler.step()
    return found


def test_a_rate_changed_by_hand_is_taken_from_there():
    optimizer = make_optimizer()
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.param_groups[0]["lr"] = 8.0
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 4.0


def test_a_factor_of_zero_ends_at_the_starting_rate():
    assert rates(lr_scheduler.ConstantLR(make_optimizer(), 0.0, 2), 4) == [0, 0, 1, 1]


@pytest.mark.parametrize("name", reference.SCHEDULES)
def test_a_schedule_resumes_from_its_state(name):
    def run(resume_at):
        first, second = (ebb.zeros(1, requires_grad=True) for _ in range(2))

        def make():
            optimizer = optim.SGD(
                [{"params": [first]}, {"params": [second], "lr": 0.02}], lr=0.1, momentum=0.9
            )
            return optimizer, reference.SCHEDULES[name](lr_scheduler, optimizer)

        optimizer, scheduler = make()
        found = []
        for epoch in range(12):
            if epoch == resume_at:
                kept = optimizer.state_dict(), scheduler.state_dict()
                optimizer, scheduler = make()
                optimizer.load_state_dict(kept[0])
                scheduler.load_state_dict(kept[1])
            found.append([group["lr"] for group in optimizer.param_groups])
            optimizer.step()
            scheduler.step()
        return found

    assert run(None) == run(6)


def test_going_on_from_an_epoch_needs_the_starting_rates():
    with pytest.raises(ValueError, match="needs 'initial_lr' in each group to go on from epoch 3"):
        lr_scheduler.StepLR(make_optimizer(), 2, last_epoch=3)
    optimizer = make_optimizer()
    optimizer.param_groups[0]["initial_lr"] = 1.0
    scheduler = lr_scheduler.StepLR(optimizer, 2, 0.5, last_epoch=3)
    assert scheduler.get_last_lr() == [0.25] and scheduler.last_epoch == 4


def test_warm_restarts_take_fractions():
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(make_optimizer(), 2, 2)
    for epoch, place, length in [(0.5, 0.5, 2), (2.5, 0.5, 4), (6, 0, 8), (7.25, 1.25, 8)]:
        scheduler.step(epoch)
        expected = (1 + math.cos(math.pi * place / length)) / 2
        assert scheduler.get_last_lr() == [pytest.approx(expected)]
    with pytest.raises(ValueError, match="step: needs epoch >= 0, got -1"):
        scheduler.step(-1)


def test_one_cycle_takes_just_its_steps():
    optimizer = make_optimizer(momentum=0.9)
    scheduler = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=5)
    rates(scheduler, 5)  # a loop's last scheduler.step() is allowed
    with pytest.raises(ValueError, match="OneCycleLR: needs at most 5 steps, got step 6"):
        scheduler.step()


def test_a_tensor_may_be_the_metric_and_nan_is_no_progress():
    scheduler = lr_scheduler.ReduceLROnPlateau(make_optimizer(), patience=0, factor=0.5)
    scheduler.step(ebb.tensor(1.0))
    scheduler.step(float("nan"))
    assert scheduler.get_last_lr() == [0.5]


def test_a_callable_object_keeps_its_state():
    class Decay:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, epoch):
            return self.factor**epoch

    state = lr_scheduler.LambdaLR(make_optimizer(), Decay(0.5)).state_dict()
    other = lr_scheduler.LambdaLR(make_optimizer(), Decay(0.9))
    other.load_state_dict(state)
    assert other.lr_lambdas[0].factor == 0.5


def test_stepping_before_the_optimizer_warns():
    scheduler = lr_scheduler.ExponentialLR(make_optimizer(), 0.5)
    with pytest.warns(UserWarning, match="called before optimizer.step"):
        scheduler.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates(lr_scheduler.ExponentialLR(make_optimizer(), 0.5), 2)


def test_a_users_own_schedule_needs_only_get_lr():
    class Halved(lr_scheduler.LRScheduler):
        def get_lr(self):
            return [rate / 2**self.last_epoch for rate in self.base_lrs]

    assert rates(Halved(make_optimizer()), 3) == [1.0, 0.5, 0.25]
    with pytest.raises(NotImplementedError, match="LRScheduler: needs a get_lr of its own"):
        lr_scheduler.LRScheduler(make_optimizer())


def test_a_users_own_schedule_may_ask_what_pytorchs_tell():
    asked = []

    class Told(lr_scheduler.LRScheduler):
        def get_lr(self):
            asked.append((self._get_lr_called_within_step, self._is_initial))
            return [group["lr"] / 2 for group in self.optimizer.param_groups]

        def _get_closed_form_lr(self):
            assert self._get_lr_called_within_step
            return [rate / 8**self.last_epoch for rate in self.base_lrs]

    optimizer = make_optimizer()
    scheduler = Told(optimizer)
    kept = set(scheduler.state_dict())
    optimizer.step()
    scheduler.step()
    scheduler.get_lr()
    assert asked == [(True, True), (True, False), (False, False)]
    with pytest.warns(UserWarning, match="deprecated"):
        scheduler.step(1)
    assert scheduler.get_last_lr() == [0.125]
    assert set(scheduler.state_dict()) == kept
    whole = lr_scheduler.SequentialLR(optimizer, [Told(optimizer), Told(optimizer)], [1])
    optimizer.step()
    optimizer.param_groups[0]["lr"] = 3.0
    whole.step()
    assert whole.get_last_lr() == [1.0]


def test_nothing_is_kept_of_a_step_that_failed():
    class Failing(lr_scheduler.LRScheduler):
        def get_lr(self):
            if self.last_epoch > 0:
                raise KeyError("no rate")
            return self.base_lrs

    optimizer = make_optimizer()
    scheduler = Failing(optimizer)
    kept = set(scheduler.state_dict())
    optimizer.step()
    with pytest.raises(KeyError):
        scheduler.step()
    assert set(scheduler.state_dict()) == kept and not scheduler._get_lr_called_within_step


def test_a_later_part_may_be_a_chain():
    optimizer = make_optimizer()
    chain = lr_scheduler.ChainedScheduler(
        [lr_scheduler.ExponentialLR(optimizer, 0.5), lr_scheduler.ConstantLR(optimizer, 0.1, 2)]
    )
    scheduler = lr_scheduler.SequentialLR(
        optimizer, [lr_scheduler.StepLR(optimizer, 1, 0.25), chain], [2]
    )
    assert rates(scheduler, 6) == pytest.approx([1, 0.25, 0.1, 0.05, 0.25, 0.125])


def test_the_first_part_may_be_a_chain():
    optimizer = make_optimizer()
    chain = lr_scheduler.ChainedScheduler(
        [lr_scheduler.ExponentialLR(optimizer, 0.5), lr_scheduler.LinearLR(optimizer, 0.5, 1.0, 2)]
    )
    scheduler = lr_scheduler.SequentialLR(
        optimizer, [chain, lr_scheduler.StepLR(optimizer, 1, 0.1)], [3]
    )
    assert rates(scheduler, 5) == pytest.approx([0.5, 0.375, 0.25, 1, 0.1])


def test_parts_of_parts_count_from_their_own_beginning():
    optimizer = make_optimizer()

    def exponential(gamma):
        return lr_scheduler.ExponentialLR(optimizer, gamma)

    def inner():
        return lr_scheduler.SequentialLR(optimizer, [exponential(0.5), exponential(0.1)], [2])

    scheduler = lr_scheduler.SequentialLR(optimizer, [inner(), inner()], [3])
    assert rates(scheduler, 7) == pytest.approx([1, 0.5, 1, 1, 0.5, 1, 0.1])


def test_a_part_that_begins_keeps_the_factors_of_others():
    optimizer = make_optimizer()
    sequence = lr_scheduler.SequentialLR(
        optimizer,
        [lr_scheduler.ConstantLR(optimizer, 1.0), lr_scheduler.ExponentialLR(optimizer, 0.5)],
        [1],
    )
    step = lr_scheduler.StepLR(optimizer, 2, 0.1)
    scheduler = lr_scheduler.ChainedScheduler([sequence, step], optimizer)
    assert rates(scheduler, 4) == pytest.approx([1, 1, 0.05, 0.025])


def test_the_part_at_milestone_zero_begins():
    optimizer = make_optimizer()
    parts = [lr_scheduler.ConstantLR(optimizer, 0.5), lr_scheduler.ConstantLR(optimizer, 0.1)]
    assert rates(lr_scheduler.SequentialLR(optimizer, parts, [0]), 2) == [0.1, 0.1]


def test_an_ended_schedule_leaves_the_rate_to_others():
    optimizer = make_optimizer()
    scheduler = lr_scheduler.PolynomialLR(optimizer, 2)
    assert rates(scheduler, 4) == [1, 0.5, 0, 0]
    optimizer.param_groups[0]["lr"] = 3.0
    assert rates(scheduler, 2) == [3, 3]


def test_warm_restarts_keep_a_fraction():
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(make_optimizer(), 2)
    scheduler.step(0.5)
    scheduler.step()
    assert scheduler.T_cur == 1.5 and scheduler.last_epoch == 1
    scheduler.step()
    assert scheduler.T_cur == 0.5


def add_group(scheduler, lr):
    scheduler.optimizer.add_param_group({"params": [ebb.zeros(1, requires_grad=True)], "lr": lr})


def test_plateau_lowers_the_rate_of_an_added_group():
    scheduler = lr_scheduler.ReduceLROnPlateau(make_optimizer(), patience=0, factor=0.5)
    scheduler.step(1.0)
    add_group(scheduler, 0.5)
    scheduler.step(1.0)
    assert scheduler.get_last_lr() == [0.5, 0.25]
    scheduler = lr_scheduler.ReduceLROnPlateau(make_optimizer(), patience=0, min_lr=[0.1])
    scheduler.step(1.0)
    add_group(scheduler, 0.5)
    with pytest.raises(ValueError, match="needs min_lrs for 2 groups, got 1\nhint: append to"):
        scheduler.step(1.0)
    scheduler.min_lrs.append(0.2)
    scheduler.step(1.0)
    assert scheduler.get_last_lr() == [pytest.approx(0.1), 0.2]


def test_an_added_group_is_led_or_refused():
    scheduler = lr_scheduler.ExponentialLR(make_optimizer(), 0.5)
    add_group(scheduler, 0.5)
    assert rates(scheduler, 2) == [1, 0.5] and scheduler.get_last_lr() == [0.25, 0.125]
    for make in (
        lambda optimizer: lr_scheduler.LambdaLR(optimizer, abs),
        lambda optimizer: lr_scheduler.MultiplicativeLR(optimizer, abs),
        lambda optimizer: lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 2),
        lambda optimizer: lr_scheduler.OneCycleLR(optimizer, 1.0, 5, cycle_momentum=False),
    ):
        scheduler = make(make_optimizer())
        add_group(scheduler, 0.5)
        scheduler.optimizer.step()
        with pytest.raises(ValueError, match="needs the 1 groups that it began with, got 2\nhint:"):
            scheduler.step()


def test_a_rate_in_a_tensor_is_written_in_place_and_shared_with_nothing():
    rate = ebb.tensor(1.0, dtype=ebb.float64)
    optimizer = make_optimizer(rate)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    last = scheduler.get_last_lr()
    optimizer.step()
    scheduler.step()
    group = optimizer.param_groups[0]
    assert group["lr"] is rate and rate.item() == 0.5
    kept = [group["initial_lr"], scheduler.base_lrs[0], last[0]]
    assert [one.item() for one in kept] == [1.0, 1.0, 1.0]
    assert len({id(one) for one in [rate, scheduler.get_last_lr()[0], *kept]}) == 5


BAD = {
    "StepLR: needs a whole number step_size >= 1, got 0": lambda s, o: s.StepLR(o, 0),
    "StepLR: needs an Optimizer, got int": lambda s, o: s.StepLR(3, 1),
    "ConstantLR: needs 0 <= factor <= 1, got 2": lambda s, o: s.ConstantLR(o, 2),
    "LinearLR: needs 0 < start_factor <= 1, got 0": lambda s, o: s.LinearLR(o, 0),
    "LinearLR: needs 0 <= end_factor <= 1, got -1": lambda s, o: s.LinearLR(o, 1, -1),
    "CosineAnnealingLR: needs T_max > 0, got 0": lambda s, o: s.CosineAnnealingLR(o, 0),
    "needs a whole number T_0 >= 1, got 1.5": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1.5),
    "LambdaLR: needs functions, got float": lambda s, o: s.LambdaLR(o, 0.5),
    "LambdaLR: needs functions for 1 groups, got 2": lambda s, o: s.LambdaLR(o, [abs, abs]),
    "OneCycleLR: needs total_steps, or epochs": lambda s, o: s.OneCycleLR(o, 1.0, epochs=3),
    "OneCycleLR: needs 0 <= pct_start <= 1": lambda s, o: s.OneCycleLR(o, 1.0, 9, pct_start=2),
    "needs anneal_strategy cos or linear, got 'x'": lambda s, o: s.OneCycleLR(
        o, 1.0, 9, anneal_strategy="x"
    ),
    "ReduceLROnPlateau: needs factor < 1, got 1": lambda s, o: s.ReduceLROnPlateau(o, factor=1),
    "needs mode min or max, got 'up'": lambda s, o: s.ReduceLROnPlateau(o, "up"),
    "needs threshold_mode rel or abs, got 'x'": lambda s, o: s.ReduceLROnPlateau(
        o, threshold_mode="x"
    ),
    "ChainedScheduler: needs at least one schedule": lambda s, o: s.ChainedScheduler([]),
    "ChainedScheduler: needs schedules, got int": lambda s, o: s.ChainedScheduler([3]),
    "needs schedules of one optimizer": lambda s, o: s.ChainedScheduler(
        [s.StepLR(o, 1), s.StepLR(make_optimizer(), 1)]
    ),
    "ChainedScheduler: needs schedules that step without a metric": lambda s, o: s.ChainedScheduler(
        [s.ReduceLROnPlateau(o)]
    ),
    "ChainedScheduler: needs schedules of its optimizer": lambda s, o: s.ChainedScheduler(
        [s.StepLR(o, 1)], make_optimizer()
    ),
    "SequentialLR: needs schedules of its optimizer": lambda s, o: s.SequentialLR(
        make_optimizer(), [s.StepLR(o, 1)], []
    ),
    "SequentialLR: needs 0 milestones, got 1": lambda s, o: s.SequentialLR(
        o, [s.StepLR(o, 1)], [2]
    ),
    "SequentialLR: needs rising milestones": lambda s, o: s.SequentialLR(
        o, [s.StepLR(o, 1), s.StepLR(o, 1), s.StepLR(o, 1)], [4, 2]
    ),
}


@pytest.mark.parametrize("text", BAD)
def test_bad_arguments_are_refused(text):
    with pytest.raises((ValueError, TypeError), match=text):
        BAD[text](lr_scheduler, make_optimizer())


def test_one_cycle_needs_a_momentum_to_cycle():
    optimizer = optim.Adagrad([ebb.zeros(1, requires_grad=True)])
    with pytest.raises(ValueError, match="needs an optimizer with momentum or betas"):
        lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=5)
    lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=5, cycle_momentum=False)


def test_a_state_of_something_else_is_refused():
    scheduler = lr_scheduler.StepLR(make_optimizer(), 2)
    with pytest.raises(TypeError, match="load_state_dict: needs a dict, got list"):
        scheduler.load_state_dict([])
    with pytest.raises(ValueError, match="needs the state of a StepLR, got none of gamma"):
        scheduler.load_state_dict(lr_scheduler.LambdaLR(make_optimizer(), abs).state_dict())


def test_a_jump_to_an_epoch_warns():
    optimizer = make_optimizer()
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match=r"scheduler\.step\(epoch\) is deprecated"):
        scheduler.step(3)
    assert scheduler.get_last_lr() == [0.125] and scheduler.last_epoch == 3


def test_a_plateau_tells_whether_it_cools_down():
    scheduler = lr_scheduler.ReduceLROnPlateau(make_optimizer(), patience=0, cooldown=1)
    for epoch, cools in ((4, False), (5, True), (6, False)):
        scheduler.step(1.0, epoch)
        assert scheduler.in_cooldown is cools and scheduler.last_epoch == epoch

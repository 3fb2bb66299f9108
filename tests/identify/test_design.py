"""A design is safe, in time and repeatable; it tells more than a chirp, and what none tells."""

from dataclasses import replace

import numpy as np
import pytest

from trueup.errors import TrueupError
from trueup.identify.design import Design, designed
from trueup.identify.design.candidates import candidates, chirp, varied
from trueup.identify.design.information import information, rehearsed
from trueup.identify.design.knowledge import Knowledge
from trueup.identify.design.safety import Safety, with_floor
from trueup.identify.design.search import Search
from trueup.identify.design.touching import probes
from trueup.identify.design.words import advice, opened, untold
from trueup.identify.estimate import Estimate, Misfit, belief_of, findings_of
from trueup.record import Body, Envelope, Probe, Series, Situation, Triangle
from trueup.space import JointNormal
from trueup.worlds import get

ARM, LIFT = get("so101/arm"), get("so101/lift")
ELBOW = ("actuation/elbow_flex/kp", "actuation/elbow_flex/damping")
FRICTION = "actuation/elbow_flex/frictionloss"
NOTHING = Misfit(episodes=0, before={}, after={})
SECONDS = 8.0


def doubting(*names: str, world=ARM, noise: float = 1e-3, doubt: float = 0.1) -> Estimate:
    """An estimate at nominal that knows each parameter to a tenth of its range."""
    space = world.catalogue.select(*names)
    u = np.clip(space.encode(space.nominal())[0], 0.1, 0.9)
    covariance = np.diag(np.full(len(u), doubt**2))
    return Estimate(
        world=world.name,
        belief=belief_of(space, u, covariance),
        findings=findings_of(space, u, covariance, np.ones(len(u))),
        unseen=(),
        fitted=NOTHING,
        held=NOTHING,
        noise={f"joint_position/{joint}": noise for joint in world.commands},
    )


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def knowledge(estimate: Estimate, world=ARM) -> Knowledge:
    return Knowledge.of(world, estimate, seeded(), 2)


def safe(world=ARM, **rest) -> Safety:
    return Safety(world, Body.of(world), world.control_period_s, **rest)


def planned(design: Design, world):
    body = Body.of(world)
    start = np.array([body.ready])
    here = Situation(world=world, body=body, period_s=world.control_period_s, start=start)
    return Envelope(world).series(design.series.motions, here)


@pytest.fixture(scope="module")
def design() -> Design:
    estimate = doubting(*ELBOW, FRICTION)
    return designed(ARM, estimate, seconds=SECONDS, generator=seeded(), rounds=1)


# What is asked of a robot ------------------------------------------------------------------------


def test_a_design_keeps_to_its_time_with_all_ways(design):
    recorded = sum(plan.duration_s for plan in planned(design, ARM))
    assert recorded <= SECONDS + 0.1
    assert recorded == pytest.approx(design.seconds, abs=0.3)


def test_a_design_made_without_a_table_is_safe_over_one(design):
    """Most arms stand on something, whether their world says so or not."""
    assert planned(design, LIFT)


def test_a_world_without_surroundings_gets_a_floor_and_others_keep_theirs():
    body = Body.of(ARM)
    assert with_floor(ARM, body, 0.0).model.ngeom == ARM.model.ngeom + 1
    assert with_floor(LIFT, Body.of(LIFT), 0.0) is LIFT


def test_a_higher_table_leaves_less_room():
    pose = (0.0, -0.3, 0.3, 0.2, 0.0, 0.6)
    motion = Triangle(center_rad=pose, amplitude_rad=(0.4,), duration_s=4.0)
    sizes = []
    for height in (0.0, 0.08, 0.2):
        fitted = safe(floor_m=height).fitted(motion)
        sizes.append(0.0 if fitted is None else max(fitted.amplitude_rad))
    assert sizes[0] > sizes[1] > sizes[2]


def test_every_candidate_passes_the_envelope_also_when_it_is_varied():
    """From the ready pose and back: at rest a joint may be nearer to its limit than on the way."""
    safety, generator = safe(), seeded(3)
    found = candidates(safety, 3.0, generator)
    assert len({type(candidate.motion) for candidate in found}) >= 5
    changed = [varied(candidate, safety, generator, 0.5) for candidate in found]
    assert sum(one is not None for one in changed) > len(found) / 2
    ready = np.array(safety.body.ready)
    for candidate in filter(None, [*found, *changed]):
        safety.envelope.checked(candidate.motion, safety.at(ready), end=ready[None])


def of_the_elbow() -> Design:
    return designed(
        ARM,
        doubting(*ELBOW),
        seconds=4.0,
        generator=seeded(),
        joints=["elbow_flex"],
        rounds=0,
    )


def test_the_same_seed_gives_the_same_design_of_the_joints_that_were_named():
    one = of_the_elbow()
    assert of_the_elbow().to_json() == one.to_json()
    for choice in one.choices:
        assert choice.motion.to_json()["joints"] == ("elbow_flex",)
        assert choice.what.startswith("elbow_flex: ")


def test_a_design_can_be_kept_as_a_file_of_motions(design, tmp_path):
    design.series.save(tmp_path / "next.json")
    assert Series.load(tmp_path / "next.json").motions == design.series.motions


# What it tells -----------------------------------------------------------------------------------


def test_a_design_is_expected_to_tell_more_than_a_chirp(design):
    assert design.gain > design.chirp_gain > 0
    assert design.helps
    assert all(design.then[name] < left for name, left in design.now.items())
    assert all(choice.gain > 0 and "elbow_flex" in choice.why for choice in design.choices)


def test_information_adds_up_and_grows_as_noise_falls():
    loud, quiet = (knowledge(doubting(*ELBOW, noise=noise)) for noise in (2e-3, 1e-3))
    signals = ("joint_position",)
    plans = [candidate.plan for candidate in candidates(safe(), 3.0, seeded())[:2]]
    episodes = rehearsed(ARM, plans, loud, signals, 1)
    told = information(ARM, episodes, loud, signals, threads=1)
    assert (np.linalg.eigvalsh(told) > -1e-9).all()
    for e, episode in enumerate(episodes):
        alone = information(ARM, [episode], loud, signals, threads=1)
        np.testing.assert_allclose(alone[:, 0], told[:, e], rtol=1e-6)
    louder = information(ARM, episodes[:1], quiet, signals, threads=1)
    np.testing.assert_allclose(louder[:1, 0], 4.0 * told[:1, 0], rtol=1e-6)


def test_an_arm_that_holds_still_tells_its_stiffness_but_not_its_damping():
    known = knowledge(doubting(*ELBOW))
    safety = safe()
    (moving, *_) = candidates(safety, 3.0, seeded())
    still = replace(moving.plan, path=np.repeat(moving.plan.path[:1], len(moving.plan.path), 0))
    signals = ("joint_position",)
    episodes = rehearsed(ARM, [moving.plan, still], known, signals, 1)
    of_moving, of_still = information(ARM, episodes, known, signals, threads=1)[0]
    assert of_still[1, 1] < 1e-3 * of_moving[1, 1]  # damping
    assert of_still[1, 1] < 1e-2 * of_still[0, 0]


def test_searching_never_makes_a_choice_worse():
    known, safety = knowledge(doubting(*ELBOW, FRICTION)), safe()
    search = Search(world=ARM, known=known, safety=safety, seconds=6.0, generator=seeded())
    search.choose(candidates(safety, 2.5, seeded())[:12])
    before = search.gain(search.told)
    for _ in range(2):
        search.improve()
    search.fill()
    assert search.gain(search.told) >= before
    assert search.taken_s() <= 6.0 + 1e-6
    np.testing.assert_allclose(search.tell(search.chosen), search.told, rtol=1e-5)


def test_the_chirp_it_is_held_against_lasts_as_long():
    usual = chirp(safe(), np.array(Body.of(ARM).ready), 7.0, ())
    assert usual is not None
    assert usual.seconds == 7.0


@pytest.mark.parametrize("touched", [True, False])
def test_probes_are_offered_where_the_doubt_is_about_touching(touched):
    names = ["contact/object-table/sliding"] if touched else list(ELBOW)
    estimate = doubting(*names, world=LIFT)
    cube = np.array([0.2, 0.03, 0.0125, 1.0, 0.0, 0.0, 0.0])
    found = probes(LIFT, knowledge(estimate, LIFT), safe(LIFT, objects={"cube": cube}), threads=1)
    if not touched:
        assert found == []
        return
    told = {candidate.motion.kind: float(matrix.mean()) for candidate, matrix in found}
    assert all(isinstance(candidate.motion, Probe) for candidate, _ in found)
    # a cube that is shoved over the table shows its friction; one that is only pinched does not
    assert max(told["push"], told["drag"]) > 10.0 * told["squeeze"]


# What it says ------------------------------------------------------------------------------------


def test_what_no_motion_tells_is_said_and_nothing_is_chosen():
    """Pan turns about the vertical: no weight pulls, so that its zero leaves no trace."""
    estimate = doubting("actuation/shoulder_pan/zero_offset", doubt=0.02)
    none = designed(ARM, estimate, seconds=6.0, generator=seeded(), rounds=0)
    assert not none.helps
    assert none.choices == ()
    (sentence,) = none.untold
    assert "actuation/shoulder_pan/zero_offset" in sentence
    assert "calibrate it against a mark" in sentence


def test_a_doubt_of_two_is_named_as_two():
    known = knowledge(doubting("actuation/elbow_flex/damping", FRICTION))
    together = np.array([1.0, 1.0]) / np.sqrt(2.0) / known.spread
    first, *_ = opened(known, np.diag(known.spread**-2), 1e4 * np.outer(together, together))
    assert str(first).startswith("tells damping from friction of elbow_flex (100 % of")
    assert first.after == pytest.approx(0.01, rel=0.01)


def test_a_common_scale_asks_for_a_load_and_two_delays_for_a_clock():
    scale = [(f"actuation/shoulder_pan/{kind}", 0.5) for kind in ("kp", "damping", "armature")]
    assert "weighed mass" in advice(scale)
    opposed = [(scale[0][0], 0.7), (scale[1][0], -0.7)]
    assert "weighed mass" not in advice(opposed)
    assert "sum" in advice([("latency/action_delay", 0.7), ("latency/encoder_delay", -0.7)])
    assert "probes" in advice([("object/cube/mass", 1.0)])


def test_what_is_known_well_is_not_listed_as_untold():
    known = knowledge(doubting(*ELBOW))
    assert untold(known, np.diag((0.1 * known.spread) ** -2.0)) == ()
    assert len(untold(known, np.diag(known.spread**-2.0))) == 2


# What it refuses ---------------------------------------------------------------------------------


def test_an_estimate_of_another_world_is_a_sentence():
    with pytest.raises(TrueupError, match=r"contact/object-table/sliding.*does not have"):
        designed(ARM, doubting("contact/object-table/sliding", world=LIFT), generator=seeded())


def test_a_covariance_that_rounding_made_uneven_is_good_enough():
    estimate = doubting(*ELBOW)
    uneven = estimate.belief.covariance + np.array([[0.0, 1e-12], [0.0, 0.0]])
    belief = JointNormal(estimate.belief.names, estimate.belief.mean, uneven)
    assert np.isfinite(knowledge(replace(estimate, belief=belief)).draws).all()


def test_an_estimate_without_noise_is_a_sentence():
    silent = replace(doubting(*ELBOW), noise={})
    with pytest.raises(TrueupError, match="how noisy"):
        designed(ARM, silent, generator=seeded())


@pytest.mark.parametrize("seconds", [0.0, 1.0, float("nan"), 1e4])
def test_an_impossible_time_is_a_sentence(seconds):
    with pytest.raises(TrueupError, match="cannot be made"):
        designed(ARM, doubting(*ELBOW), seconds=seconds, generator=seeded())


def test_an_unknown_joint_is_a_sentence():
    with pytest.raises(TrueupError, match="elbow"):
        designed(ARM, doubting(*ELBOW), generator=seeded(), joints=["elbow"])

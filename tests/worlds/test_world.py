"""A world and its space become one model, or a sentence that says why not."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from tests.worlds.pendulum import MJCF, Pendulum, damping, mass
from trueup.effects import Effect, FieldEffect, Target, Values, Write, actuation, latency
from trueup.effects.plausible import UpTo
from trueup.errors import TrueupError, UnknownName
from trueup.space import Fixed, Parameter, Space
from trueup.worlds import Compiled, FieldCollision, MissingSensor, Readings, Signal, World


def parameter(name: str, **changes) -> Parameter:
    given = dict(name=name, unit="N·m·s/rad", nominal=0.2, low=0.0, high=1.0)
    return Parameter(**{**given, **changes})


class TestWorld:
    def test_is_compiled_once(self):
        world = Pendulum()
        assert world.model is world.model

    def test_names_its_commands_in_order(self):
        world = Pendulum(
            mjcf=MJCF.replace(
                "</actuator>", '<motor name="push" joint="swing" gear="0.1"/></actuator>'
            )
        )
        assert world.commands == ("swing", "push")

    def test_counts_physics_steps(self):
        assert Pendulum().substeps == 4

    @pytest.mark.parametrize("period", [0.012, 0.001])
    def test_refuses_a_control_period_between_steps(self, period):
        class Odd(Pendulum):
            control_period_s = period

        with pytest.raises(TrueupError, match=r"not a whole number of its physics steps of 0.005"):
            _ = Odd().substeps

    def test_leaves_optional_effects_out_of_its_space(self):
        world = Pendulum(*actuation(), *latency())
        left_out = set(world.catalogue.names) - set(world.space.names)
        assert left_out == {
            "actuation/fade_rate",
            "actuation/swing/backlash",
            "actuation/swing/load_friction",
            "actuation/swing/rest_friction",
            "actuation/swing/rest_slip",
            "actuation/swing/rest_time",
            "actuation/swing/stribeck_torque",
            "actuation/swing/stribeck_velocity",
            "latency/swing/delay",
        }

    def test_never_loses_by_default(self):
        readings = Readings({}, np.zeros((2, 0)), np.zeros(2))
        assert World.failure(Pendulum(), readings).tolist() == [False, False]

    def test_has_no_simple_bodies(self):
        # MuJoCo would ignore a centre of mass that moves away from a simple body's frame
        assert not Pendulum().model.body_simple[1:].any()

    @pytest.mark.parametrize(
        ("broken", "words"),
        [
            (MJCF.replace('joint="swing"', 'joint="swng"', 1), "swng"),
            (MJCF.replace("</worldbody>", ""), "XML"),
            (MJCF.replace('size="0.02"', 'size="-1"'), "size"),
        ],
        ids=["unknown joint", "broken XML", "impossible size"],
    )
    def test_says_why_its_mjcf_does_not_compile(self, broken, words):
        with pytest.raises(TrueupError, match="'test/pendulum' does not compile") as caught:
            _ = Pendulum(mjcf=broken).model
        assert words in str(caught.value)


class TestCompiled:
    def test_takes_the_worlds_space(self):
        world = Pendulum(damping())
        assert Compiled(world).space is world.space

    def test_refuses_an_unknown_parameter(self):
        space = Space((parameter("actuation/swing/dampin"),))
        with pytest.raises(
            UnknownName, match=r"'actuation/swing/dampin'.*'actuation/swing/damping"
        ):
            Compiled(Pendulum(damping()), space)

    @pytest.mark.parametrize("bounds", [dict(low=-1.0), dict(high=11.0)])
    def test_refuses_bounds_wider_than_the_catalogues(self, bounds):
        space = Space((parameter("actuation/swing/damping", **bounds),))
        with pytest.raises(TrueupError, match=r"only physical within \[0, 10\] N·m·s/rad.*a test"):
            Compiled(Pendulum(damping()), space)

    def test_refuses_another_unit(self):
        space = Space((parameter("actuation/swing/damping", unit="N·mm·s/rad"),))
        with pytest.raises(TrueupError, match=r"is in 'N·mm·s/rad' in this space.*Convert"):
            Compiled(Pendulum(damping()), space)

    def test_takes_narrower_bounds(self):
        space = Space((parameter("actuation/swing/damping", low=0.1, high=0.3),))
        assert Compiled(Pendulum(damping()), space).fields == ("dof_damping",)

    def test_names_both_effects_that_want_one_number(self):
        world = Pendulum(damping(), damping(name="drag"))
        with pytest.raises(FieldCollision) as caught:
            Compiled(world)
        assert str(caught.value) == (
            "FieldEffect('actuation/{name}/damping') and FieldEffect('actuation/{name}/drag') both "
            "set element 0 of the model field 'dof_damping'; one of them would be lost silently. "
            "Leave one of the two out of the space, e.g. with `space.without(...)`, or out of the "
            "world's effects()."
        )

    def test_its_advice_on_a_collision_helps(self):
        world = Pendulum(damping(), damping(name="drag"))
        assert Compiled(world, world.space.without("*/drag")).fields == ("dof_damping",)

    def test_refuses_a_field_that_cannot_differ(self):
        class Wrong(Effect):
            def parameters(self, model):
                return (parameter("object/arm/x"),)

            def writes(self, model):
                return (Write(field="mesh_vert", elements=(1,), values=lambda p: p),)

        with pytest.raises(TrueupError, match="'mesh_vert', which cannot differ"):
            Compiled(Pendulum(Wrong()))

    def test_names_a_missing_sensor_and_the_nearest(self):
        class Curious(Pendulum):
            observations = (Signal(name="q", unit="rad", sensors=("swing_postion",)),)

        with pytest.raises(MissingSensor) as caught:
            Compiled(Curious())
        assert str(caught.value).startswith(
            "There is no sensor named 'swing_postion'. Did you mean 'swing_position'"
        )
        assert str(caught.value).endswith("Add it to the <sensor> section of the world's MJCF.")

    def test_shares_the_nominal_model_where_nothing_is_edited(self):
        world = Pendulum(damping())
        assert Compiled(world).model is world.model

    def test_effects_at_rest_are_left_out(self):
        world = Pendulum(damping(), *latency())
        compiled = Compiled(world, world.space.pinned())
        assert compiled.fields == ()
        assert compiled.action_filters == []
        assert compiled.model.nhistory == 0

    def test_a_parameter_held_off_nominal_is_at_work(self):
        world = Pendulum(damping())
        space = world.space.pinned({"actuation/swing/damping": 3.0})
        numbers = Compiled(world, space).numbers(Values.at(space.points(space.sample(RNG, 2))))
        assert numbers["dof_damping"].values.tolist() == [[3.0], [3.0]]

    def test_knows_which_fields_need_derived_constants(self):
        assert Compiled(Pendulum(mass())).needs_set_const
        assert not Compiled(Pendulum(damping())).needs_set_const

    def test_sets_scales_and_adds_in_that_order(self):
        def effect(name: str, op) -> FieldEffect:
            return FieldEffect(
                parameter=f"actuation/{{name}}/{name}",
                of="joint",
                targets=(Target("dof_damping"),),
                plausible=UpTo(limit=10.0, usual=1.0),
                unit="1",
                source="a test",
                op=op,
            )

        world = Pendulum(effect("add", "add"), effect("scale", "scale"), effect("set", "set"))
        point = {
            "actuation/swing/set": 2.0,
            "actuation/swing/scale": 3.0,
            "actuation/swing/add": 4.0,
        }
        numbers = Compiled(world).numbers(Values.at(world.space.points(point)))
        assert numbers["dof_damping"].values.tolist() == [[10.0]]

    def test_an_effect_that_edits_gets_a_model_of_its_own(self):
        world = Pendulum(*latency())
        compiled = Compiled(world)
        assert world.model.nhistory == 0
        assert compiled.model.nhistory > 0
        assert mujoco.mj_name2id(compiled.model, mujoco.mjtObj.mjOBJ_JOINT.value, "swing") == 0

    def test_fixed_beliefs_survive(self):
        world = Pendulum(damping())
        space = world.space.pinned({"actuation/swing/damping": 0.2})
        assert space["actuation/swing/damping"].belief == Fixed(0.2)
        assert Compiled(world, space).fields == ()


RNG = np.random.default_rng(0)

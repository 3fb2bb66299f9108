"""Priors for what somebody else chose: a cube, a tool, a tape on a finger."""

from __future__ import annotations

from dataclasses import replace

from trueup.space import LogUniform, Parameter, Space, Uniform


def open_minded(space: Space) -> Space:
    """The same parameters, each believed to be anywhere between its bounds.

    The usual priors say how far copies of one thing differ. What was put into a robot's hand is
    another thing altogether.
    """
    return Space(tuple(_anywhere(parameter) for parameter in space))


def _anywhere(parameter: Parameter) -> Parameter:
    kind = LogUniform if parameter.scale == "log" else Uniform
    return replace(parameter, prior=kind(parameter.low, parameter.high))

"""The eight ways simulation and reality disagree."""

from __future__ import annotations

from enum import StrEnum


class Gap(StrEnum):
    """One dimension of the sim-to-real gap; the first segment of every parameter's name."""

    CONTACT = "contact"
    VISUAL = "visual"
    SENSING = "sensing"
    OBJECT = "object"
    ENVIRONMENT = "environment"
    HUMAN = "human"
    ACTUATION = "actuation"
    LATENCY = "latency"

    @property
    def question(self) -> str:
        """What this gap asks, for tables a newcomer reads."""
        return _QUESTIONS[self]


_QUESTIONS = {
    Gap.CONTACT: "How do surfaces stick, slide and give?",
    Gap.VISUAL: "Does the camera see what is there?",
    Gap.SENSING: "Do encoders and current readings tell the truth?",
    Gap.OBJECT: "Is the object what we modelled?",
    Gap.ENVIRONMENT: "Is the place what we modelled?",
    Gap.HUMAN: "What do people add?",
    Gap.ACTUATION: "Do the joints move as commanded?",
    Gap.LATENCY: "When does a command act, and when is a reading from?",
}

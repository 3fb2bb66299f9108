"""Policies that LeRobot trained, behind our contract: its own code runs them."""

from trueup.policies.lerobot.address import opened as opened
from trueup.policies.lerobot.checkpoint import Checkpoint as Checkpoint
from trueup.policies.lerobot.policy import LerobotPolicy as LerobotPolicy

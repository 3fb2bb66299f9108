"""What to record next: the motions that remove most uncertainty for each second of the robot."""

from trueup.identify.design.design import Choice as Choice
from trueup.identify.design.design import Design as Design
from trueup.identify.design.design import designed as designed

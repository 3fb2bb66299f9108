"""Whether a robot is wired, calibrated and timed as the policy and the model have it."""

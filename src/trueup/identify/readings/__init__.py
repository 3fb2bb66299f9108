"""What the readings of a sensor say by themselves: their steps, their noise at rest, repeats."""

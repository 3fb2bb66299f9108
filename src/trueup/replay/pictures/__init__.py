"""A replay to look at: curves over each other, and videos side by side."""

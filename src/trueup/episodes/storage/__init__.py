"""How a dataset lies on disk: LeRobotDataset v3.0, with what LeRobot has no place for beside it."""

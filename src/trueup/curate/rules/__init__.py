"""What can be wrong with an episode, one idea to a file."""

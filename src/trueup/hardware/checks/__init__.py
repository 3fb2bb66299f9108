"""The rules that a robot must keep, as `check_robot` goes through them."""

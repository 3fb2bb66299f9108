"""Can a model tell the episodes of a set from a reference, and by which signal?"""

"""How a demonstration is performed: legs in the frame of a thing, carried to where it stands."""

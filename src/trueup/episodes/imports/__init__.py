"""Other people's recordings as episodes: tables in files, and a mapping that says what is what."""

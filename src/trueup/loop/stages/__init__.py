"""The steps of the circle, each from stored artefacts to stored artefacts."""

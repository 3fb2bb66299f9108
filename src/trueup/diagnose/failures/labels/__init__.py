"""Outcomes beside labels: what goes along with failure, and how sure that is."""

"""Advice: which backends carry a load that you describe, and what each needs for it.

A model of a few lines calculates it from what a campaign measured. See docs/advice.md.
"""

"""Advice: which backends carry a load that you describe, and what each needs for it.

A model of a few lines calculates it from what a campaign measured, and is compared with
measurements that it was not made from. See docs/advice.md.
"""

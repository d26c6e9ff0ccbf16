"""Tests of the advice: the model, what it is made from, and how it is shown."""

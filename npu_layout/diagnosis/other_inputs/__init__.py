"""Inputs that are made in other ways than declared, on which the model runs again.

It imports no other part of the wing.
"""

"""How well a way to read or make an output agrees with the model, and how many values prove it.

It imports no other part of the wing.
"""

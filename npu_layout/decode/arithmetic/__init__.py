"""Numbers that numpy and the compiled kernels compute to the same bits: exponentials, sines, activations, masks.

It imports no other part of the wing.
"""

"""Numbers that numpy and the compiled kernels compute to the same bits: exponentials, sines, activations, masks.

Of the wing, it imports no other part of the wing.
"""

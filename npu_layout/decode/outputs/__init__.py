"""Which outputs have which parts of a head, and along which axes.

Of the wing, it imports heads and arithmetic.
"""

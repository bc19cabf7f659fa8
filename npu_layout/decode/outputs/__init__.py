"""Which outputs have which parts of a head, and along which axes.

Of the other parts, it imports heads and arithmetic.
"""

"""A head as a record: parts, encodings of boxes, activations and rules, as data.

Of the other parts, it imports arithmetic.
"""

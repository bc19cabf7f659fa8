"""Answers that are no boxes of cells: classes, text, points, regions, people, lanes.

Of the wing, it imports decoders, outputs, results, zoo, heads and arithmetic.
"""

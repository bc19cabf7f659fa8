"""Answers that are no boxes of cells: classes, text, points, regions, people, lanes.

Of the other parts, it imports decoders, outputs, results, zoo, heads and arithmetic.
"""

"""What a decoder returns: detections and masks, which of them overlap, and how two sets compare.

Of the other parts, it imports heads and arithmetic.
"""

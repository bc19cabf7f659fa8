"""From stored outputs to detections: by the compiled kernels, or in numpy.

Of the wing, it imports outputs, results, zoo, heads and arithmetic.
"""

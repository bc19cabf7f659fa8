"""From stored outputs to detections: by the compiled kernels, or in numpy.

Of the other parts, it imports outputs, results, zoo, heads and arithmetic.
"""

"""How the bytes of an output may be stored: another layout, dtype, scale, or order of channels and rows.

Of the wing, it imports scoring.
"""

"""How the bytes of an output may be stored: another layout, dtype, scale, or order of channels and rows.

Of the other parts, it imports scoring.
"""

"""Time the kernels and operators against memcpy and other libraries.

Imports decode, ops, frames, buffers, layouts, kernels and support.
"""

__all__ = []

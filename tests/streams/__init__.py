"""Tests of npu_layout.streams."""

"""Tests of npu_layout.testing."""

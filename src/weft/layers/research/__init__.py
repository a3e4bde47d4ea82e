"""Layers of research: position encodings, relative and rotary attention, resampling."""

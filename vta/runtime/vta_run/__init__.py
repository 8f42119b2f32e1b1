"""The runtime that does without Python: building it for a processor, and its command for this machine."""

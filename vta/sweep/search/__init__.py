"""Search over configs: the good designs of a space that is too large to run whole."""

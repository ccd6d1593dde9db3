"""The embedded API server: storage, watch history, admission, discovery, tables."""

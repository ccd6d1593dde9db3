"""The moorage command."""

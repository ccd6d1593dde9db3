"""Tools of the workshop: run from a checkout, never installed with the package."""

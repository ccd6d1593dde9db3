"""API events into columns; pods assumed before the API server confirms them."""

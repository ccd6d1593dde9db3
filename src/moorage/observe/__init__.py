"""Metrics, logging, and explaining decisions."""

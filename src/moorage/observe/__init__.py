"""Metrics and logging: what a process shows of itself.

series      counters and histograms that cost next to nothing to count
metrics     kube-scheduler's metrics, by its names
exposition  the text a scraper reads
logs        log lines, and how many of them
"""

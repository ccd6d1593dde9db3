"""The extender webhook protocol from both sides.

`wire` has the messages. Our scheduler as client: `asking` puts a decision's questions to the configured extenders,
`client` asks one of them, `breaker` leaves alone what keeps failing.
"""

"""The extender webhook protocol from both sides.

`wire` has the messages. Our scheduler as client: `asking` puts a decision's questions to the configured extenders,
`client` asks one of them, `breaker` leaves alone what keeps failing. Plugins served to other schedulers: `service`
answers requests (`deciding`, `promises`, `binding`, over the cluster of `following`), `mounting` puts it on HTTP
behind `guarding`, and `process` runs it.
"""

from moorage.extender.mounting import aiohttp_app, asgi_app
from moorage.extender.service import ExtenderService, make_extender

__all__ = ["ExtenderService", "aiohttp_app", "asgi_app", "make_extender"]

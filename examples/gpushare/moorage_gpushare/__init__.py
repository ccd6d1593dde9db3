"""GPU sharing by memory: pods share cards, each fits one card, and no card is promised twice.

Compatible with the gpushare scheduler extender of Alibaba Cloud: its resources, paths, annotations and messages.
`cards` has the arithmetic, `ledger` who holds what, `server` the webhook (`python -m moorage_gpushare`), `plugin` the
same as a plugin for Moorage's own scheduler, `table` what a person sees.
"""

from moorage_gpushare.plugin import GpuShare

__all__ = ["GpuShare"]

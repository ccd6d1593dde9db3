"""Somebody else's client of the embedded API server: the stock kube-scheduler, in protobuf, with its gate on."""

import pytest
from tests.cluster.gangs.places import CONTESTANTS, Ground
from tests.cluster.gangs.test_scheduler_gangs import are_whole
from tools.control_plane.binaries import folder


async def test_the_stock_kube_scheduler_places_gangs_on_the_embedded_api_server() -> None:
    contestant = next(one for one in CONTESTANTS if one.name == "kube-scheduler")
    if not (folder() / contestant.program).exists():
        pytest.skip(f"needs kube-scheduler in {folder()} (make control-plane)")
    async with Ground(is_real=False).place(contestant) as place:
        await place.nodes(4, cpu=2)
        await place.start()
        await place.gang("a", 8)
        await are_whole(place, 1)
        conditions = (await place.group("a"))["status"]["conditions"]
        assert [(one["status"], one["reason"]) for one in conditions] == [("True", "Scheduled")]

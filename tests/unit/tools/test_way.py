"""ARCHITECTURE.md tells the way of a pod as it is."""

from tools.way import PAGE, on_page, told, trace


async def test_the_page_tells_the_way_that_a_pod_really_takes() -> None:
    steps = await trace()
    assert [step.name for step in steps][-1].endswith("transport.Client.request")
    assert on_page(PAGE.read_text()) == told(steps), "run `python -m tools.way --write`"

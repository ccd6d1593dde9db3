"""moorage demo: a story that shows the product on a cluster in this process.

story      the chapters, told top to bottom
manifests  what is created on the way
asking     waiting for pods; asking the engine for the decision before the scheduler takes it
showing    decisions and placements as tables
returning  the chapter of the pod that comes back
plugin     ten lines of Python that change a decision
"""

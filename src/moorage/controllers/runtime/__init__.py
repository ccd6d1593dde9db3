"""What controllers are made of.

controller    a queue of keys and what to do with one
informers     one informer for each kind, shared; indexes over what they hold
discovery     which resources the server has
expectations  what was just written and has not come back yet
freshness     the same for an object written over and over
writer        creating, patching and deleting objects
ownership     who owns what: adopting, releasing
podwork       making and deleting pods, many at a time
cluster       the above, as one thing that every controller is given
"""

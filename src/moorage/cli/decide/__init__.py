"""moorage decide: where pods would go, without a cluster.

command    the command, its options, and what kind of input it was given
cases      recorded cases, a JSON object a line
objects    nodes and pods as kubectl prints them
"""

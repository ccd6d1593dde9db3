"""Expressions over devices: the part of the Common Expression Language that device selectors are written in.

Text becomes tokens, a tree, a tree with types, and closures. The functions are those Kubernetes offers to selectors.
"""

from moorage.cel.errors import CompileError, CostExceeded, EvaluationError
from moorage.cel.selector import DeviceView, Selector, selector

__all__ = ["CompileError", "CostExceeded", "DeviceView", "EvaluationError", "Selector", "selector"]

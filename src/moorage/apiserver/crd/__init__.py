"""Kinds that users define: CustomResourceDefinitions and the objects of their kinds."""

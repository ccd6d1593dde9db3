"""KubeSchedulerConfiguration v1: decoding, defaults, validation; and the old Policy file's conversion.

Knows names and arguments of plugins, not their code."""

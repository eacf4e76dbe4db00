"""Train a causal language model with FSDP2, under Ray Train.

Run it with ``python -m trainyard.train``; ``--help`` lists what can be set.
"""

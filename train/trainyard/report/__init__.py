"""What a run says of itself: records of its steps, errors, and evidence of its network.

metrics.py is the way in; records.py is the contract with whoever reads them.
"""

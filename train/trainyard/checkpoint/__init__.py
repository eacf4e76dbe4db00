"""What a run leaves behind and goes on from: checkpoints, and a Hugging Face model.

checkpoints.py is the way in; storage.py reaches disks, S3 and the hub.
"""

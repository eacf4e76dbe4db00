"""What a run reads: documents of any format, as rows of tokens, with a position.

reader.py is the way in; datainfo.py is what the driver asks before it starts.
"""

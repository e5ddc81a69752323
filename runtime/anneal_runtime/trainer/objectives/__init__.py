"""What a training minimizes, a file for each objective. A step divides the sums of an objective and propagates them; a
validation only reads them.
"""

"""Boxes: read, match, count, agree, draw. No model is called; every number is exact and can be reproduced."""

"""Octets of any claimed encoding and charset → characters that can be seen."""

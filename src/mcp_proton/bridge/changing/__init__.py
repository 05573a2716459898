"""Changing mail on Bridge by recipes that were measured, each looked at before and afterwards."""

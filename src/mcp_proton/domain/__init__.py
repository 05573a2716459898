"""The words of the field: frozen values and pure rules. Imports nothing of ours."""

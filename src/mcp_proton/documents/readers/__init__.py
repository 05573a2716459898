"""The readers: one file for each kind of file, named as `kinds.Kind` names it.

Each has `read(file, pages, claim)`: it reads an open file, whatever the file is, into pages, and returns how many pages there
are where that is known without having counted. It may open nothing, since its doors are shut.
"""

"""What a request means before anything is looked at: queries, places, cursors, snapshots."""

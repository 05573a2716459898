"""What is true of Proton Mail Bridge and of no other server, on top of `imap`."""

"""The IMAP side: commands as strict and as odd as Bridge's parser, and how each is answered."""

"""Canaries: nothing of mail is in what the suite's processes say beside their answers (P-98).

All mail that a world of the tests is given is a canary, and so are its passwords, every token and every address. What is
listened to, in every test: log records as the product writes them, standard error, what `serve` prints, metrics and traces.
A test during which one is heard fails, and is told where; not what, for what is heard there is read by strangers.

`words` knows the canaries, `planting` where mail comes into the tests' worlds, `hearing` what is said in this process,
`children` what other processes say, `plugin` which test it was.
"""

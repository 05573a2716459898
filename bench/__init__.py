"""The benchmarks: each prints ratios measured in one run, against a raw-socket floor or a peer library."""

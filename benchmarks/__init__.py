"""How fast the product is, beside what one would use instead: `python -m benchmarks`.

Machines differ and are shared, so a number that is to be compared is a ratio: both sides take turns
in one run, each turn gives one ratio, and the table shows their median and their middle 80 %.
A new row is one module with `measure(Effort) -> list[Measure]` and one line in `registry.ROWS`; one
that takes long is also in `registry.LONG`, and is measured only when it is named.
"""

"""A worker whose layers never compile, whose graphs fail, and which is slow."""
import time


def make_step(options):
    if options.get("mode") == "reduce-overhead":
        raise RuntimeError('no "graphs"\nhere')
    losses = iter(range(100))

    def step():
        if options.get("compile_layers"):
            time.sleep(60)
        loss = next(losses)
        # The fifth step is the first that counts, and no sixth one ends.
        if options["compile"] and loss == 5:
            time.sleep(60)
        return 4.5 + loss

    return step

"""simulated.py NEAR FAR SLOW: predictions of HOSL with two directions, two rows of 16 tokens, over
a link without a bound, over one of a second, and with a slow client.

Each probe and the forward of the shared pass go there and come back.
"""

import json
import sys

near, far, slow = (json.load(open(path))["prediction"] for path in sys.argv[1:])
trips = 2 * 2 + 1
added = far["step_seconds"] - near["step_seconds"]
assert added >= 2 * trips, added
for own, other in zip(near["programs"], far["programs"]):
    assert own["sent"] == other["sent"] and own["computing"] == other["computing"]
states = trips * 32 * 48 * 4  # the model's width, in float32
assert states < near["programs"][0]["sent"] < states + 4096, near
client, crawling = near["programs"][0], slow["programs"][0]
assert abs(crawling["computing"] / client["computing"] * 1e-6 - 1) < 1e-6

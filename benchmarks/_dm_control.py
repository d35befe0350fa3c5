"""dm_control's Jaco, in an environment of its own: a JSON line in, a JSON line out.

Resets are not timed.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from dm_control import manipulation

ENVIRONMENT = "reach_site_features"


def main() -> None:
    """Answer {"steps": N} with the seconds that N control steps took."""
    environment = manipulation.load(ENVIRONMENT, seed=0)
    spec = environment.action_spec()
    rng = np.random.default_rng(0)
    environment.reset()
    for line in sys.stdin:
        seconds, cpu_seconds, steps = 0.0, 0.0, int(json.loads(line)["steps"])
        for action in rng.uniform(spec.minimum, spec.maximum, (steps, *spec.shape)):
            start, cpu_start = time.perf_counter(), time.process_time()
            last = environment.step(action).last()
            seconds += time.perf_counter() - start
            cpu_seconds += time.process_time() - cpu_start
            if last:
                environment.reset()
        physics = environment.physics.model.opt.timestep
        answer = {"seconds": seconds, "cpu_seconds": cpu_seconds, "physics_step_s": physics}
        print(json.dumps(answer | {"control_step_s": environment.control_timestep()}), flush=True)


if __name__ == "__main__":
    main()

"""Table I as printed in the paper: (median, lower quartile, upper quartile).

One number is corrected: the upper quartile of vanilla TRPO on Acrobot lacks its minus sign
there. Speedups are baseline ÷ curiosity; the paper has no RND and no DDPG with VIME here.
"""

from __future__ import annotations

REWARD: dict[tuple[str, str, str], tuple[float, float, float]] = {
    ("mountaincar", "trpo", "curiosity"): (20.0, 16.0, 22.0),
    ("mountaincar", "trpo", "vime"): (22.0, 17.0, 24.0),
    ("mountaincar", "trpo", "none"): (18.0, 12.25, 22.0),
    ("mountaincar", "ddpg", "curiosity"): (-50.0, -200.0, -7.0),
    ("mountaincar", "ddpg", "none"): (11.0, -200.0, 20.0),
    ("mountaincar", "reinforce", "curiosity"): (30.15, 4.80, 31.70),
    ("mountaincar", "reinforce", "vime"): (28.5, -15.75, 30.375),
    ("mountaincar", "reinforce", "none"): (29.85, 4.75, 30.9),
    ("swingup", "trpo", "curiosity"): (-1.39, -15.80, 12.36),
    ("swingup", "trpo", "vime"): (-46.66, -67.93, -33.34),
    ("swingup", "trpo", "none"): (-23.60, -45.99, -9.94),
    ("swingup", "ddpg", "curiosity"): (33.11, -17.78, 44.33),
    ("swingup", "ddpg", "none"): (25.0, -20.71, 42.22),
    ("swingup", "reinforce", "curiosity"): (-46.53, -57.61, -35.05),
    ("swingup", "reinforce", "vime"): (-68.57, -81.67, -56.04),
    ("swingup", "reinforce", "none"): (-48.09, -57.99, -37.47),
    ("pendulum", "trpo", "curiosity"): (-80.33, -87.39, -74.47),
    ("pendulum", "trpo", "vime"): (-79.16, -86.03, -72.03),
    ("pendulum", "trpo", "none"): (-79.63, -88.25, -66.75),
    ("pendulum", "ddpg", "curiosity"): (-27.13, -50.2, -14.43),
    ("pendulum", "ddpg", "none"): (-53.51, -100.0, -19.45),
    ("pendulum", "reinforce", "curiosity"): (-80.53, -86.22, -76.41),
    ("pendulum", "reinforce", "vime"): (-81.43, -87.11, -77.19),
    ("pendulum", "reinforce", "none"): (-83.91, -100.0, -77.96),
    ("acrobot", "trpo", "curiosity"): (-182.7, -241.33, -148.83),
    ("acrobot", "trpo", "vime"): (-230.1, -319.83, -183.58),
    ("acrobot", "trpo", "none"): (-197.8, -286.88, -143.05),
    ("acrobot", "ddpg", "curiosity"): (-138.05, -203.25, -110.13),
    ("acrobot", "ddpg", "none"): (-143.1, -208.8, -111.95),
    ("acrobot", "reinforce", "curiosity"): (-135.5, -190.08, -108.4),
    ("acrobot", "reinforce", "vime"): (-137.15, -191.33, -110.40),
    ("acrobot", "reinforce", "none"): (-145.9, -224.13, -115.0),
}

SPEEDUP: dict[tuple[str, str, str], float] = {
    ("mountaincar", "trpo", "vime"): 0.8,
    ("mountaincar", "trpo", "none"): 1.43,
    ("mountaincar", "ddpg", "none"): 0.67,
    ("mountaincar", "reinforce", "vime"): 3.36,
    ("mountaincar", "reinforce", "none"): 2.25,
    ("swingup", "trpo", "vime"): 6.76,
    ("swingup", "trpo", "none"): 4.44,
    ("swingup", "ddpg", "none"): 1.61,
    ("swingup", "reinforce", "vime"): 5.33,
    ("swingup", "reinforce", "none"): 1.11,
    ("pendulum", "trpo", "vime"): 0.833,
    ("pendulum", "trpo", "none"): 0.89,
    ("pendulum", "ddpg", "none"): 13.33,
    ("pendulum", "reinforce", "vime"): 2.52,
    ("pendulum", "reinforce", "none"): 9.09,
    ("acrobot", "trpo", "vime"): 2.47,
    ("acrobot", "trpo", "none"): 1.45,
    ("acrobot", "ddpg", "none"): 1.52,
    ("acrobot", "reinforce", "vime"): 1.14,
    ("acrobot", "reinforce", "none"): 2.21,
}

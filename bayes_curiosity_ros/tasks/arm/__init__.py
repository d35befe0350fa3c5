"""Reach and grasp with a robot arm."""

import bayes_curiosity_ros.robot  # noqa: F401  before MuJoCo: it chooses the GL back end

"""A robot arm that explores on purpose: Bayesian curiosity on ROS 2."""

__version__ = "0.1.0"

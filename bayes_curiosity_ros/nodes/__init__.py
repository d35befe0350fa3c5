"""Thin ROS 2 nodes, and conversions between messages and what the other rooms work with."""

from bayes_curiosity_ros.environment import end_with_starter

end_with_starter()  # before torch, whose import takes seconds

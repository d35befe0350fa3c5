"""Thin ROS 2 nodes, and conversions between messages and what the other rooms work with."""

from bayes_curiosity_ros.environment import end_quietly_on_signals, end_with_starter, is_node

# Both before torch, whose import takes seconds.
if is_node():
    end_quietly_on_signals()
end_with_starter()

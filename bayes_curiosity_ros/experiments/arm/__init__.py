"""The learning curve of the arm itself, over the ROS graph."""

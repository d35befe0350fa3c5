"""Episodes as rosbag2 bags: written, read, scored, learnt from and re-driven, with no ROS."""

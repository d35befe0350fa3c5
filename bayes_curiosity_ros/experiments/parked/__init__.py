"""The arm parked aside learns over ROS with curiosity, and in process without, to compare."""

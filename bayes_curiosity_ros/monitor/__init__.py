"""The operator's page: what it shows, who may use its buttons, and how viser draws it; no ROS."""

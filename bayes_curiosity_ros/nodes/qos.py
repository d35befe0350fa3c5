"""How messages travel, named by what depends on them."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

# A whole episode may be under way before its messages are read.
EPISODE_QOS = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)
# Late joiners need the newest.
LATCHED_QOS = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
# A real camera's newest frame counts, not every frame.
SENSOR_QOS = qos_profile_sensor_data

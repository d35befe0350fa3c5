"""Points with a value each, as the message that RViz and Foxglove draw."""

from __future__ import annotations

import array

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

FIELDS = ("x", "y", "z", "intensity")
NUMBER = np.dtype("<f4")


def cloud_of(points: np.ndarray, values: np.ndarray, frame: str) -> PointCloud2:
    """A cloud of points, (N, 3) in [m] in this frame, whose intensities are the values, (N,)."""
    table = np.column_stack([points, values]).astype(NUMBER)
    size = NUMBER.itemsize
    cloud = PointCloud2(height=1, width=len(table), is_dense=True)
    cloud.header.frame_id = frame
    cloud.fields = [
        PointField(name=name, offset=size * place, datatype=PointField.FLOAT32, count=1)
        for place, name in enumerate(FIELDS)
    ]
    cloud.point_step = size * len(FIELDS)
    cloud.row_step = cloud.point_step * cloud.width
    cloud.data = array.array("B", table.tobytes())
    return cloud

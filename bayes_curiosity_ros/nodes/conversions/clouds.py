"""Between points with a value each and the message that RViz and Foxglove draw."""

from __future__ import annotations

import array

import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from bayes_curiosity_ros.errors import LengthError

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


def values_of_cloud(cloud: PointCloud2) -> tuple[np.ndarray, np.ndarray]:
    """(N, 3) points in [m] and (N,) intensities of a cloud of 32-bit floats.

    Raises:
        LengthError: it has no such fields, or less data than it says.
    """
    offsets = {each.name: each.offset for each in cloud.fields if _is_float(each)}
    count = cloud.width * cloud.height
    if any(name not in offsets for name in FIELDS) or cloud.point_step < 4:
        raise LengthError(f"a cloud without the 32-bit floats {', '.join(FIELDS)}")
    if len(cloud.data) != count * cloud.point_step or max(offsets.values()) + 4 > cloud.point_step:
        raise LengthError(
            f"a cloud of {count} points of {cloud.point_step} bytes has {len(cloud.data)} bytes"
        )
    order = ">" if cloud.is_bigendian else "<"
    kind = np.dtype(
        {
            "names": FIELDS,
            "formats": [f"{order}f4"] * len(FIELDS),
            "offsets": [offsets[name] for name in FIELDS],
            "itemsize": cloud.point_step,
        }
    )
    table = np.frombuffer(cloud.data, dtype=kind)
    points = np.stack([table[name] for name in FIELDS[:3]], axis=1).astype(np.float32)
    good = np.isfinite(points).all(axis=1)
    return points[good], table["intensity"][good].astype(np.float32)


def _is_float(field: PointField) -> bool:
    return bool(field.datatype == PointField.FLOAT32 and field.count == 1)

"""Bags from before messages named their run and who acted: the same by older definitions."""

import re

from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from bayes_curiosity_ros.bags.decode import decode
from bayes_curiosity_ros.bags.definitions import Definition
from bayes_curiosity_ros.bags.metadata import Topic
from bayes_curiosity_ros.bags.writer import BagConfig, BagWriter
from support.pretended import TYPES, topic

WHO_ACTED = r"uint8 (actor|POLICY|OPERATOR)|float64 requested_gripper|uint32 operator_steps"
# What messages did not have yet: before they said who acted, and before they named their run.
LACKED = {"actor": WHO_ACTED, "run": f"uint64 run|{WHO_ACTED}"}


def older_topic(name, before="run"):
    """A topic as it was described before messages had this."""
    today = topic(name)
    text = re.sub(rf"^({LACKED[before]})\b.*\n", "", today.definition.text, flags=re.MULTILINE)
    ours = text != today.definition.text
    digest = "RIHS01_0123" if ours else today.definition.type_hash
    return Topic(name, Definition(today.type_name, text, digest), today.qos)


def older_bytes(name, data, before="run"):
    """A message of today as it was serialised then."""
    then = older_topic(name, before)
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(then.definition.text, then.type_name))
    return bytes(store.serialize_cdr(decode(topic(name), data), then.type_name))


def write_older_bag(path, records, **config):
    """A whole bag of these records of today, as it was then."""
    bag = BagWriter(path, BagConfig(**config), {"task": "reach", "seed": "7"})
    for name in TYPES:
        bag.add_topic(older_topic(name))
    for record in records:
        if record.topic in TYPES:
            bag.write(record._replace(data=older_bytes(record.topic, record.data)))
    bag.close()

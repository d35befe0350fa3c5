#!/bin/sh
# What `ros2 run` and launch start, by a node's plain name. Python is that of the environment which
# this is installed in, else the one on PATH: colcon's own, which it writes into programs, does not
# see what is installed in an activated environment. Signals that come before the node can handle
# them wait until it can, where `env` knows how.
trap 'exit 0' INT TERM
python="${0%/*}/../../bin/python3"
[ -x "$python" ] || python=python3
set -- "$python" -m "bayes_curiosity_ros.nodes.${0##*/}_node" "$@"
if env --block-signal=INT true 2> /dev/null; then
    exec env --block-signal=INT --block-signal=TERM "$@"
fi
exec "$@"

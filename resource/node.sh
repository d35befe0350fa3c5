#!/bin/sh
# What `ros2 run` and launch start, by a node's plain name: the program of that node, which is
# called bayes-curiosity-NAME where people's other programs are. Signals that come before it can
# handle them wait until it can, where `env` knows how.
trap 'exit 0' INT TERM
program="$(dirname "$0")/../../bin/bayes-curiosity-$(basename "$0")"
if env --block-signal=INT true 2> /dev/null; then
    exec env --block-signal=INT --block-signal=TERM "$program" "$@"
fi
exec "$program" "$@"

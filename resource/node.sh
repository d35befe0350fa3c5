#!/bin/sh
# What `ros2 run` and launch start, by a node's plain name: the program of that node, which is
# called bayes-curiosity-NAME where people's other programs are.
exec "$(dirname "$0")/../../bin/bayes-curiosity-$(basename "$0")" "$@"

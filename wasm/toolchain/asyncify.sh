#!/usr/bin/env bash
# The wasm-opt of `tinygo test`. The scheduler of a test needs --asyncify; the
# optimizations that TinyGo asks for besides take a third of the time of a
# package's tests and change nothing that the tests see.
exec wasm-opt "${@/-Oz/-O0}"

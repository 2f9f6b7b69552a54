"""words.py as a component, unmodified: it is found when the component is built, and begins when that is called."""
import importlib.util

# What is imported here is loaded when the component is built, not when it runs.
import json, os, pathlib, sys, time

from wit_world import exports

WORDS = importlib.util.find_spec("words").loader.get_code("words")


class Run(exports.Run):
    def run(self):
        exec(WORDS, {"__name__": "__main__"})

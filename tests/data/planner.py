"""A planner in one file, for tests: the plan of the uniform launch, written as `exec` wants it."""

import sys

from instances.files import read_instance, write_plan
from instances.tables import Tables
from solvers.placements.uniform import best_uniform

instance = read_instance(sys.argv[1])
plan, _ = best_uniform(instance, Tables.of(instance))
if plan is not None:
    write_plan(sys.argv[2], plan, instance)

"""A second witness of the cost model: an iteration played out event by event, by the rules of docs/model.md alone.

It takes what is given from `instances/` (instance, plan, FLOPs and bytes of a block) and none of its costs: neither the
referee nor rates and tables, so that a fault in either shows as a difference. A test holds that line.
"""

"""What goes where: weights, caches and buffers, before anything is loaded.

`sizes.sizes_of(header, id)` reads a model's sizes off its GGUF header; `make.make_plan(request)`
gives the plan that fits, and `make.next_rung(request, plan)` the next smaller one, for a load that
failed all the same. Pure: what the machine has comes in as a `HardwareReport`.
"""

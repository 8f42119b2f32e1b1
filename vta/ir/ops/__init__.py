"""The operators of the graph, each declared by a module of this folder; `vta.ir.declared` says by which."""

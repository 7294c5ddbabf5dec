"""A suite of graphs of many kinds, on which every choice of the default recipe is made."""

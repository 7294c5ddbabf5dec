"""SANNE by the paper's own protocol: its grid, a search over it, and the figures that the search gives.

    python -m sanne_lab.paper --dataset cora --setting transductive --budget 2   # search for two hours, then print
    python -m sanne_lab.paper --budget 0                                         # print what the records say
    python -m sanne_lab.paper --ablation no-attention --budget 1                 # table 3

`rows.rows(dataset, setting)` is what tables call. Records are in results/paper; checkpoints and Doc2Vec vectors in
the folder given by --cache, from which a search goes on where it stopped.
"""

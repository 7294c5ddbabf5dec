"""SANNE by the paper's own protocol: its grid, a search over it, and the figures that the search gives.

    sanne reproduce table2 --model sanne-paper --dataset cora --setting transductive --budget 2   # search two hours
    sanne reproduce table2 --model sanne-paper --budget 0                                         # print the records
    sanne reproduce table3 --budget 1                                                             # its ablations

`rows.rows(dataset, setting)` is what tables call. Records are in results/paper; checkpoints and Doc2Vec vectors in
results/paper/cache, from which a search goes on where it stopped.
"""

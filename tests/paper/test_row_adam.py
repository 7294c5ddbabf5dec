"""RowAdam: torch's SparseAdam, and only the rows touched."""

import torch

from sanne.paper.loop import RowAdam


def test_it_moves_a_table_as_torch_s_sparse_adam_does() -> None:
    torch.manual_seed(0)
    start = torch.randn(50, 4)
    tables = [torch.nn.Parameter(start.clone()) for _ in range(2)]
    optimisers = [RowAdam([tables[0]], lr=0.01), torch.optim.SparseAdam([tables[1]], lr=0.01)]
    for _ in range(20):
        rows = torch.randint(0, 40, (12,))  # some twice
        weights = torch.randn(12, 4)
        for table, optimiser in zip(tables, optimisers, strict=True):
            optimiser.zero_grad()
            (torch.nn.functional.embedding(rows, table, sparse=True) * weights).sum().backward()
            optimiser.step()
    assert torch.allclose(tables[0], tables[1], atol=1e-6)
    assert torch.equal(tables[0][40:], start[40:])  # never touched
    assert not torch.equal(tables[0][:40], start[:40])


def test_its_state_can_be_kept_and_restored() -> None:
    table = torch.nn.Parameter(torch.zeros(3, 2))
    optimiser = RowAdam([table], lr=0.1)
    torch.nn.functional.embedding(torch.tensor([1]), table, sparse=True).sum().backward()
    optimiser.step()
    other = RowAdam([torch.nn.Parameter(torch.zeros(3, 2))], lr=0.1)
    other.load_state_dict(optimiser.state_dict())
    kept = other.state_dict()["state"][0]
    assert kept["step"] == 1
    assert torch.allclose(kept["exp_avg"], torch.tensor([[0, 0], [0.1, 0.1], [0, 0]]))

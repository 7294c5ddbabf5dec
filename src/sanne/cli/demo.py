"""`sanne demo`: the whole story on Cora."""

from pathlib import Path

from sanne.cli.options import Json, Picture, Recipe, Seed, notes, print_json, print_table


def demo(out: Picture = Path("map.png"), recipe: Recipe = "fast", seed: Seed = 0, as_json: Json = False) -> None:
    """Fit Cora without 1000 of its papers, embed them as new nodes, evaluate the vectors, draw the map."""
    from sanne.demo import run_demo
    from sanne.draw.plot import check_picture

    check_picture(out)
    result = run_demo(recipe=recipe, seed=seed, out=out, say=notes.print)
    if as_json:
        print_json(result)
        return
    print_table(
        ("accuracy, %", "fitted papers", "new papers"),
        [
            ("sanne", f"{result['present_accuracy']:.1f}", f"{result['new_accuracy']:.1f}"),
            (
                "smoothed features",
                f"{result['smoothed_present_accuracy']:.1f}",
                f"{result['smoothed_accuracy']:.1f}",
            ),
        ],
    )
    steps = ("load", "fit", "embed", "evaluate", "plot")
    print_table(("step", "seconds"), [(step, f"{result[f'{step}_seconds']:.1f}") for step in steps])
    print_table(
        (f"papers similar to {result['example']} ({result['example_class']}), a new paper", "class", "similarity"),
        [(str(row["id"]), row["class"], f"{row['similarity']:.3f}") for row in result["similar"]],
    )
    notes.print(f"wrote {result['map']}")

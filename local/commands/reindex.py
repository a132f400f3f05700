"""`winnow reindex`: every search index built anew, or every document cut anew."""

from pathlib import Path

from functions.reconcile.pipeline import reconcile
from functions.reconcile.rechunk import cut_anew
from functions.reconcile.reindex import reindex as build
from local.bars import watching
from local.datasets import DatasetUnusable
from local.stores import make_parts, open_stores
from local.terminal import tell
from shared.postgres.datasets import name_datasets
from shared.postgres.engine import read


def reindex(folder: Path | None) -> bool:
    """Builds the index of every embedding space anew, and looks whether the stores agree.

    Args:
        folder: the home.

    Returns:
        Whether they do.
    """
    with watching() as watcher, open_stores(folder, watcher) as stores:
        task = "Building the search index"
        watcher.begin(task)
        spaces = build(stores.engine, stores.index, stores.builder)
        watcher.finish(task)
        task = "Comparing the stores"
        watcher.begin(task)
        report, _ = reconcile(make_parts(stores))
        watcher.finish(task)
    total = report.sum()
    tell(f"Built {len(spaces)} indices of {total.indexed} chunks.")
    if total.left:
        tell(f"{total.left} differences could not be repaired: winnow reconcile tells which.")
    return not total.left


def rechunk(folder: Path | None, dataset_name: str | None) -> None:
    """Has documents cut anew from what was sent, as their datasets say by now.

    Args:
        folder: the home.
        dataset_name: only those of this dataset; None = of all.

    Raises:
        DatasetUnusable: there is no such dataset.
    """
    with watching() as watcher, open_stores(folder, watcher) as stores:
        with read(stores.engine) as connection:
            names = name_datasets(connection)
        asked = [id_ for id_, name in names.items() if dataset_name in {None, name, id_}]
        if dataset_name is not None and not asked:
            known = ", ".join(sorted(names.values())) or "none"
            raise DatasetUnusable(f"There is no dataset {dataset_name!r}; there are {known}.")
        parts = make_parts(stores)
        count = sum(cut_anew(parts.engine, parts.queue, dataset_id) for dataset_id in asked)
    tell(f"{count} documents are cut anew by whoever ingests; those that come out equal stay.")

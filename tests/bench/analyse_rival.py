"""The analysis of `fieldtrial analyse --samples median` in pandas, scipy and statsmodels."""

import sys

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests


def describe(cells):
    """Per cell: median, quartiles, mean, deviation, extremes, MAD, percentiles."""
    grouped = cells.groupby(["size", "arm"])["seconds"]
    table = grouped.agg(["count", "median", "mean", "std", "min", "max"])
    quantiles = grouped.quantile([0.1, 0.25, 0.75, 0.9, 0.95, 0.99]).unstack()
    mad = (cells["seconds"] - grouped.transform("median")).abs().groupby([cells["size"], cells["arm"]]).median()
    return table.join(quantiles).assign(mad=mad)


def effect(differences, critical):
    """Hodges-Lehmann, exact signed-rank p and the interval that inverts it."""
    n = len(differences)
    i, j = np.triu_indices(n)
    walsh = np.sort((differences[i] + differences[j]) / 2)
    p = stats.wilcoxon(differences, mode="exact").pvalue
    return np.median(walsh), walsh[critical], walsh[-1 - critical], p


runs = pd.read_csv(sys.argv[1])
cells = runs.groupby(["size", "arm", "block"], as_index=False)["seconds"].median()
summary = describe(cells)
logs = np.log(cells.pivot_table(index=["size", "block"], columns="arm", values="seconds"))
# Lower critical sum of the two-sided 5 % test at ten pairs.
CRITICAL = 8
arms = [arm for arm in logs.columns if arm != "old"]
pooled = [effect((logs[arm] - logs["old"]).groupby("block").mean().to_numpy(), CRITICAL) for arm in arms]
adjusted = multipletests([p for *_, p in pooled], method="holm")[1]
single = [
    (size, arm, *effect((block[arm] - block["old"]).to_numpy(), CRITICAL))
    for size, block in logs.groupby("size")
    for arm in arms
]
print(summary.to_json(), list(zip(arms, pooled, adjusted)), len(single))

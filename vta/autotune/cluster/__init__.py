"""A Dask cluster as a place for points and trials."""

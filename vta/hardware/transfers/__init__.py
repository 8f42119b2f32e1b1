"""The data path of LOADs: what is requested, and which rows are written."""

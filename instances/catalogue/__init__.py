"""Facts about real GPUs, models, regions and networks, each row of the data files with its source."""
